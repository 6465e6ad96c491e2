# expect: triton.missing_function
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def newgelu(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    u = 0.7978845608028654 * (x + 0.044715 * tl.pow(x, 3))
    e = tl.exp(2.0 * u)
    tl.store(out_ptr + offs, 0.5 * x * (1.0 + (e - 1.0) / (e + 1.0)), mask=mask)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        newgelu[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), BLOCK=512)
        return out
