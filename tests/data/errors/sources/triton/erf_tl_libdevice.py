# expect: triton.missing_function
# tools: triton
import torch, triton
import triton.language as tl
from torch import nn

@triton.jit
def exact_gelu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.)
    cdf = 0.5 * (1.0 + tl.libdevice.erf(x * 0.70710678))
    tl.store(y_ptr + i, x * cdf, mask=i < n)

class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        exact_gelu[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), 256)
        return y
