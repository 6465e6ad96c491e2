import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BM": 64, "BN": 64, "BK": 32})], key=["M"])
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    m = (pid // tl.cdiv(N, BN)) * BM + tl.arange(0, BM)
    n = (pid % tl.cdiv(N, BN)) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_tile = a_ptr + m[:, None] * K + k[None, :]
    b_tile = b_ptr + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_tile, mask=k[None, :] < K - i * BK, other=0.0)
        b = tl.load(b_tile, mask=k[:, None] < K - i * BK, other=0.0)
        acc += tl.dot(a, b)
        a_tile += BK
        b_tile += BK * N
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


def run(a, b, c):
    matmul[lambda meta: (256,)](a, b, c, 512, 512, 512)
