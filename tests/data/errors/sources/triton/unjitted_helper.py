# expect: triton.host_function
# tools: triton
import torch
import triton
import triton.language as tl


def leaky_relu(x, slope):
    return tl.where(x >= 0, x, x * slope)


@triton.jit
def leaky_kernel(x_ptr, y_ptr, n, slope, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + o, mask=o < n)
    tl.store(y_ptr + o, leaky_relu(x, slope), mask=o < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        leaky_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), 0.01, BLOCK=256)
        return y
