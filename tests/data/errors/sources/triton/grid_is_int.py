# expect: triton.grid
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def neg_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + o, -tl.load(x_ptr + o, mask=o < n), mask=o < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        n_blocks = triton.cdiv(x.numel(), 1024)
        neg_kernel[n_blocks](x, y, x.numel(), BLOCK=1024)
        return y
