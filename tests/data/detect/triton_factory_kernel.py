import torch
import triton
import triton.language as tl


def make_kernel():
    @triton.jit
    def body(x_ptr, u_ptr, y_ptr, T, R, activation: tl.constexpr, N: tl.constexpr):
        """A step: launched once per step? No: for t in range(T) is below."""
        r = tl.program_id(0)
        n = tl.arange(0, N)
        s = tl.zeros((N,), tl.float32)
        u = tl.load(u_ptr + n[:, None] * N + n[None, :])
        for t in range(T):
            s = activation(tl.load(x_ptr + (t * R + r) * N + n) + tl.sum(u * s[None, :], 1))
            tl.store(y_ptr + (t * R + r) * N + n, s)

    return body


@triton.jit
def squash(v):
    return tl.sigmoid(v)


KERNELS = {"squash": make_kernel()}


def drive(x):
    torch.manual_seed(1)
    y = torch.empty_like(x)
    kernel = KERNELS["squash"]
    kernel[(x.shape[1],)](x, torch.randn(16, 16) * 0.1, y, x.shape[0], x.shape[1], squash, N=16)
    return y
