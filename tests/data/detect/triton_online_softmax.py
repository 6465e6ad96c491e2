import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, n, B: tl.constexpr):
    row = tl.program_id(0)
    m = -float("inf")
    s = 0.0
    for start in range(0, n, B):
        c = start + tl.arange(0, B)
        x = tl.load(x_ptr + row * n + c, mask=c < n, other=-float("inf"))
        m_next = tl.maximum(m, tl.max(x, axis=0))
        s = s * tl.exp(m - m_next) + tl.sum(tl.exp(x - m_next), axis=0)
        m = m_next
    for start in range(0, n, B):
        c = start + tl.arange(0, B)
        x = tl.load(x_ptr + row * n + c, mask=c < n)
        tl.store(y_ptr + row * n + c, tl.exp(x - m) / s, mask=c < n)


def run(x, y):
    softmax[(x.shape[0],)](x, y, x.shape[1], B=1024)
