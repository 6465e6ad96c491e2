import torch
import triton
import triton.language as tl


@triton.jit
def grouped(a_ptrs, b_ptrs, c_ptrs, sizes, group_size, NUM_SM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile_idx = tl.program_id(0)
    last_problem_end = 0
    for g in range(group_size):
        gm = tl.load(sizes + g * 3)
        gn = tl.load(sizes + g * 3 + 1)
        gk = tl.load(sizes + g * 3 + 2)
        num_m = tl.cdiv(gm, BM)
        num_n = tl.cdiv(gn, BN)
        num_tiles = num_m * num_n
        while tile_idx >= last_problem_end and tile_idx < last_problem_end + num_tiles:
            a_ptr = tl.load(a_ptrs + g).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(b_ptrs + g).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(c_ptrs + g).to(tl.pointer_type(tl.float16))
            local = tile_idx - last_problem_end
            rm = (local // num_n) * BM + tl.arange(0, BM)
            rn = (local % num_n) * BN + tl.arange(0, BN)
            rk = tl.arange(0, BK)
            pa = a_ptr + rm[:, None] * gk + rk[None, :]
            pb = b_ptr + rk[:, None] * gn + rn[None, :]
            accumulator = tl.zeros((BM, BN), dtype=tl.float32)
            for kk in range(0, tl.cdiv(gk, BK)):
                tl.multiple_of(pa, [16, 16])
                accumulator += tl.dot(tl.load(pa), tl.load(pb))
                pa += BK
                pb += BK * gn
            tl.store(c_ptr + rm[:, None] * gn + rn[None, :], accumulator.to(tl.float16))
            tile_idx += NUM_SM
        last_problem_end = last_problem_end + num_tiles


def run(a, b, c, sizes, n):
    grouped[lambda META: (META["NUM_SM"],)](a, b, c, sizes, n, NUM_SM=84, BM=128, BN=128, BK=32)
