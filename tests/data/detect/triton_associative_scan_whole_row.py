import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def scan_row(x_ptr, y_ptr, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    x = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0)
    tl.store(y_ptr + row * n + i, tl.associative_scan(x, 0, add), mask=i < n)


def run(x):
    y = torch.empty_like(x)
    scan_row[(x.shape[0],)](x, y, x.shape[1], B=triton.next_power_of_2(x.shape[1]))
    return y
