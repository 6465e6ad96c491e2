import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"B": 16}, num_warps=4), triton.Config({"B": 32})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@triton.jit
def apple(p0, p1, p2, n, B: tl.constexpr, EVEN: tl.constexpr):
    q = tl.program_id(0)
    r = tl.arange(0, B)
    s = tl.load(p2 + q * B + r)
    k = 0
    while k < n:
        v = tl.load(p0 + k * B + r)
        w = tl.load(p1 + r[:, None] * B + r[None, :])
        s = tl.maximum(v + tl.sum(w * s[None, :], axis=1), 0.0) * 0.5 + tl.sigmoid(s)
        k += 1
    tl.store(p2 + q * B + r, s)


def pear(a, b, c):
    apple[lambda meta: (triton.cdiv(c.numel(), meta["B"]),)](a, b, c, a.shape[0])
