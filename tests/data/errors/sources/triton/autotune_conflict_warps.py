# expect: triton.autotune_conflict
# tools: triton
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({'BLOCK': 256}, num_warps=4), triton.Config({'BLOCK': 512}, num_warps=8)], key=['n'])
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x * 2.0, mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        kernel[lambda m: (triton.cdiv(n, m['BLOCK']),)](x, y, n, num_warps=4)
        return y
