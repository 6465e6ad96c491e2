# expect: triton.tensor_index
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def add_bias(x, bias, y, C: tl.constexpr):
    r = tl.program_id(0)
    for c in range(C):
        y[r * C + c] = x[r * C + c] + bias[c]

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(128))

    def forward(self, x):
        y = torch.empty_like(x)
        add_bias[(x.shape[0],)](x, self.bias, y, 128)
        return y
