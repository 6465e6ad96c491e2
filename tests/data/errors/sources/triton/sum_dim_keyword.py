# expect: triton.arguments
# tools: triton triton-interpreter
import torch
import triton
import triton.language as tl

@triton.jit
def cosine_kernel(a_ptr, b_ptr, o_ptr, D, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + r * D + c, mask=c < D, other=0.0)
    b = tl.load(b_ptr + r * D + c, mask=c < D, other=0.0)
    dot = tl.sum(a * b, dim=0)
    tl.store(o_ptr + r, dot * tl.rsqrt(tl.sum(a * a, dim=0) * tl.sum(b * b, dim=0) + 1e-8))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        o = torch.empty(x.shape[0])
        cosine_kernel[(x.shape[0],)](x, x, o, x.shape[1], BLOCK=128)
        return o
