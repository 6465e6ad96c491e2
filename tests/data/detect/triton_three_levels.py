import triton
import triton.language as tl


@triton.jit
def deep(x_ptr, w_ptr, y_ptr, L, T, H: tl.constexpr, B: tl.constexpr):
    b = tl.program_id(0)
    j = tl.arange(0, H)
    for layer in range(L):
        h = tl.zeros((H,), tl.float32)
        for t in range(T):
            acc = tl.load(x_ptr + (b * T + t) * H + j)
            for k0 in tl.static_range(0, H, B):
                acc += tl.sum(tl.load(w_ptr + (layer * H + k0) * H + j[:, None]) * h[None, :], 1)
            h = tl.sigmoid(acc)
            tl.store(y_ptr + ((b * L + layer) * T + t) * H + j, h)


def run(x, w, y):
    deep[(x.shape[0],)](x, w, y, 6, 512, H=256, B=64)
