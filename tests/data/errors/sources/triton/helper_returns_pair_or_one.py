# expect: triton.return_type
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def row_stats(ptr, cols, n, full):
    v = tl.load(ptr + cols, mask=cols < n, other=0.0)
    mean = tl.sum(v, axis=0) / n
    if full != 0:
        return mean, tl.sum(v * v, axis=0) / n - mean * mean
    else:
        return mean

@triton.jit
def instance_norm(x_ptr, y_ptr, n, flag, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mean, var = row_stats(x_ptr + r * n, c, n, flag)
    v = tl.load(x_ptr + r * n + c, mask=c < n)
    tl.store(y_ptr + r * n + c, (v - mean) * tl.rsqrt(var + 1e-5), mask=c < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        instance_norm[(x.shape[0],)](x, y, x.shape[1], 3, BLOCK=128)
        return y
