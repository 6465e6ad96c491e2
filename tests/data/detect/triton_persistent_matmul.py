import triton
import triton.language as tl


@triton.jit
def tile_origin(tile, n_tiles_n, BM: tl.constexpr, BN: tl.constexpr):
    return (tile // n_tiles_n) * BM, (tile % n_tiles_n) * BN


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    start = tl.program_id(0)
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    for tile in tl.range(start, tiles, PROGRAMS, flatten=True):
        m0, n0 = tile_origin(tile, tiles_n, BM, BN)
        m = m0 + tl.arange(0, BM)
        n = n0 + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for kk in range(0, K, BK):
            k = kk + tl.arange(0, BK)
            a = tl.load(a_ptr + m[:, None] * K + k[None, :])
            b = tl.load(b_ptr + k[:, None] * N + n[None, :])
            acc = tl.dot(a, b, acc)
        tl.store(c_ptr + m[:, None] * N + n[None, :], tl.maximum(acc, 0.0))


def run(a, b, c):
    matmul[(132,)](a, b, c, 4096, 4096, 4096, 132, 128, 128, 64)
