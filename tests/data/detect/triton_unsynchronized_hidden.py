import triton
import triton.language as tl


@triton.jit
def recurrent(x_ptr, w_ptr, h_ptr, T, H, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    for t in range(T):
        acc = tl.load(x_ptr + (b * T + t) * H + j)
        for k in range(H):
            hk = tl.load(h_ptr + b * H + k)
            acc += hk * tl.load(w_ptr + k * H + j)
        tl.store(h_ptr + b * H + j, tl.sigmoid(acc))


def run(x, w, h):
    recurrent[(x.shape[0], 4)](x, w, h, x.shape[1], 256, BLOCK=64)
