import torch
import triton
import triton.language as tl


@triton.jit
def average(x_ptr, y_ptr, n, rows, decay, W: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, W)
    avg = tl.zeros((W,), tl.float32)
    for i in range(n):
        avg = decay * avg + (1.0 - decay) * tl.load(x_ptr + (i * rows + row) * W + cols)
    tl.store(y_ptr + row * W + cols, avg)


def drive(x):
    y = torch.empty_like(x[0])
    average[(x.shape[1],)](x, y, x.shape[0], x.shape[1], 0.9, W=x.shape[2])
    return y[None]
