# expect: triton.global_variable
# tools: triton triton-hip
import torch
import triton
import triton.language as tl

EPS: float = 1e-5
GROUPS = 8


@triton.jit
def group_norm_kernel(x_ptr, y_ptr, group_size, BLOCK: tl.constexpr):
    g = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + g * group_size + o, mask=o < group_size, other=0.0)
    mean = tl.sum(x, axis=0) / group_size
    d = tl.where(o < group_size, x - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(d * d, axis=0) / group_size + EPS)
    tl.store(y_ptr + g * group_size + o, d * rstd, mask=o < group_size)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        n, c = x.shape
        y = torch.empty_like(x)
        group_norm_kernel[(n * GROUPS,)](x, y, c // GROUPS, BLOCK=triton.next_power_of_2(c // GROUPS))
        return y
