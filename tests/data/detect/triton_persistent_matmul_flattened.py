import torch
import triton
import triton.language as tl


@triton.jit
def locate(tile, per_row):
    return tile // per_row, tile % per_row


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SMS: tl.constexpr):
    pid = tl.program_id(0)
    per_row = tl.cdiv(N, BN)
    k_tiles = tl.cdiv(K, BK)
    num_tiles = tl.cdiv(M, BM) * per_row
    mine = num_tiles // SMS
    if pid < num_tiles % SMS:
        mine += 1
    tile = pid - SMS
    ki = -1
    rm = tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, k_tiles * mine):
        ki = tl.where(ki == k_tiles - 1, 0, ki + 1)
        if ki == 0:
            tile += SMS
            tm, tn = locate(tile, per_row)
            rm = tm * BM + tl.arange(0, BM)
            rn = tn * BN + tl.arange(0, BN)
        a = tl.load(a_ptr + rm[:, None] * K + (ki * BK + rk)[None, :])
        b = tl.load(b_ptr + (ki * BK + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(a, b, acc)
        if ki == k_tiles - 1:
            tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.float16))
            acc = tl.zeros((BM, BN), dtype=tl.float32)


def run(a, b, c):
    sms = torch.cuda.get_device_properties("cuda").multi_processor_count
    matmul[(sms,)](a, b, c, 4096, 4096, 4096, BM=128, BN=128, BK=64, SMS=sms)
