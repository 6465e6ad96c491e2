# expect: triton.arguments
# tools: triton triton-interpreter triton-3.2
import torch
import triton
import triton.language as tl


@triton.jit
def helper(v, scale):
    return v * scale


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    y = helper(x)
    tl.store(y_ptr + offs, y, mask=offs < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(8,)](x, y, x.numel(), BLOCK=1024)
        return y
