import triton
import triton.language as tl


@triton.jit
def layernorm(x_ptr, y_ptr, n, B: tl.constexpr):
    row = tl.program_id(0)
    mean = 0.0
    m2 = 0.0
    count = 0.0
    for off in range(0, n, B):
        x = tl.load(x_ptr + row * n + off + tl.arange(0, B))
        count += B
        delta = tl.sum(x, 0) / B - mean
        mean += delta * (B / count)
        m2 += tl.sum((x - mean) * (x - mean), 0)
    scale = 1.0 / tl.sqrt(m2 / n + 1e-5)
    for off in range(0, n, B):
        i = row * n + off + tl.arange(0, B)
        tl.store(y_ptr + i, (tl.load(y_ptr + i) + tl.load(x_ptr + i) - mean) * scale)


def run(x, y):
    layernorm[(x.shape[0],)](x, y, x.shape[1], B=1024)
