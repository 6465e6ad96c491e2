# expect: triton.host_function
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def mean_pool(x_ptr, y_ptr, L, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    s = tl.sum(tl.load(x_ptr + b * L + o, mask=o < L, other=0.0), axis=0)
    tl.store(y_ptr + b, s / float(L))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0])
        mean_pool[(x.shape[0],)](x, y, x.shape[1], BLOCK=128)
        return y
