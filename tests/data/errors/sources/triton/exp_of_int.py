# expect: triton.operand_type
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def pos_encoding(x_ptr, y_ptr, D, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    freq = tl.exp(-d)
    x = tl.load(x_ptr + t * D + d, mask=d < D)
    tl.store(y_ptr + t * D + d, x + tl.sin(t * freq), mask=d < D)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        pos_encoding[(x.shape[0],)](x, y, x.shape[1], BLOCK=128)
        return y
