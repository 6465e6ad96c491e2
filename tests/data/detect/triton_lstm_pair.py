import triton
import triton.language as tl


@triton.jit
def lstm(g_ptr, u_ptr, y_ptr, T, H: tl.constexpr):
    b = tl.program_id(axis=0)
    j = tl.arange(0, H)
    h, c = tl.zeros((H,), tl.float32), tl.zeros((H,), tl.float32)
    for t in range(T):
        i = tl.load(g_ptr + ((b * T + t) * 2 + 0) * H + j)
        f = tl.load(g_ptr + ((b * T + t) * 2 + 1) * H + j) \
            + tl.sum(tl.load(u_ptr + j[:, None] * H + j[None, :]) * h[None, :], 1)
        c, h = tl.sigmoid(f) * c + tl.sigmoid(i), tl.sigmoid(c)
        tl.store(y_ptr + (b * T + t) * H + j, h)


def run(g, u, y):
    lstm[(g.shape[0],)](g, u, y, g.shape[1], H=128)
