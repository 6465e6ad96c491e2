import torch
import triton
import triton.language as tl


@triton.jit
def old_version(x_ptr, u_ptr, y_ptr, T, N: tl.constexpr):
    n = tl.arange(0, N)
    s = tl.zeros((N,), tl.float32)
    for t in range(T):
        s = tl.sigmoid(tl.load(x_ptr + t * N + n) + s * tl.load(u_ptr + n))
        tl.store(y_ptr + t * N + n, s)


@triton.jit
def one_step(x_ptr, s_ptr, u_ptr, y_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    s = tl.load(s_ptr + n)
    tl.store(y_ptr + n, tl.sigmoid(tl.load(x_ptr + n) + s * tl.load(u_ptr + n)))


def drive(x):
    # old_version[(1,)](x, u, y, T, N=32) was slower
    torch.manual_seed(1)
    u = torch.randn_like(x[0])
    y = torch.zeros(x.shape[0] + 1, *x.shape[1:])
    for t, frame in enumerate(x):
        one_step[(1,)](frame.contiguous(), y[t], u, y[t + 1], N=32)
    return y[1:]
