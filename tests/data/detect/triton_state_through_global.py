import torch
import triton
import triton.language as tl


@triton.jit
def sweep(x_ptr, u_ptr, y_ptr, T, B, H: tl.constexpr):
    b = tl.program_id(0)
    j = tl.arange(0, H)
    for t in range(1, T + 1):
        before = tl.load(y_ptr + ((t - 1) * B + b) * H + j)
        u = tl.load(u_ptr + j[:, None] * H + j[None, :])
        pre = tl.load(x_ptr + ((t - 1) * B + b) * H + j) + tl.sum(u * before[None, :], 1)
        tl.store(y_ptr + (t * B + b) * H + j, 1 / (1 + tl.exp(-pre)))
        tl.debug_barrier()


def drive(x):
    torch.manual_seed(1)
    T, B, H = x.shape
    y = torch.zeros(T + 1, B, H)
    sweep[(B,)](x, torch.randn(H, H) * 0.1, y, T, B, H=H)
    return y[1:]
