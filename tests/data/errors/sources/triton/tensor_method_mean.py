# expect: triton.tensor_method
# tools: triton triton-interpreter
import torch
import triton
import triton.language as tl

@triton.jit
def center_rows(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * N + c, mask=c < N, other=0.0)
    tl.store(y_ptr + r * N + c, x - x.mean(), mask=c < N)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        center_rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=128)
        return y
