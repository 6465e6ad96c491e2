import torch
import triton
import triton.language as tl


@triton.jit
def last_state(a_ptr, b_ptr, y_ptr, n, rows, W: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, W)
    s = tl.zeros((W,), tl.float32)
    a_row = a_ptr + row * W + cols
    b_row = b_ptr + row * W + cols
    for _ in range(n):
        a = tl.load(a_row)
        b = tl.load(b_row)
        s = a * s + b
        a_row += rows * W
        b_row += rows * W
    tl.store(y_ptr + row * W + cols, s)


def drive(x):
    y = torch.empty_like(x[0])
    last_state[(x.shape[1],)](torch.sigmoid(x), x, y, x.shape[0], x.shape[1], W=x.shape[2])
    return y[None]
