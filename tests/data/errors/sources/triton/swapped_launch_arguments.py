# expect: triton.pointer_type
# tools: triton triton-hip
import torch
import triton
import triton.language as tl


@triton.jit
def hardswish_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    r = tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0)
    tl.store(y_ptr + offs, x * r / 6.0, mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        hardswish_kernel[(triton.cdiv(n, 1024),)](x, n, y.numel(), BLOCK_SIZE=1024)
        return y
