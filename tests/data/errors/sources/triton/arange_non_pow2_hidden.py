# expect: triton.power_of_two
# tools: triton triton-hip
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, w_ptr, y_ptr, eps, D: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, D)
    x = tl.load(x_ptr + row * D + d)
    ms = tl.sum(x * x, axis=0) / D
    tl.store(y_ptr + row * D + d, x * tl.rsqrt(ms + eps) * tl.load(w_ptr + d))


class ModelNew(nn.Module):
    def __init__(self, hidden=96, eps=1e-6):
        super().__init__()
        self.proj = nn.Linear(128, hidden)
        self.weight = nn.Parameter(torch.ones(hidden))
        self.eps = eps

    def forward(self, x):
        x = self.proj(x)
        y = torch.empty_like(x)
        rmsnorm_kernel[(x.shape[0],)](x, self.weight, y, self.eps, D=x.shape[1])
        return y
