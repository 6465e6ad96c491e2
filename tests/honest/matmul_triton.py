# honest: Triton, products in full float32
# task: matmul
# device: gpu
# timeout: 60

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        a = tl.load(a_ptr + rows[:, None] * K + start + inner[None, :], mask=rows[:, None] < M, other=0.0)
        b = tl.load(b_ptr + (start + inner)[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0.0)
        total += tl.dot(a, b, input_precision="ieee")
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total, mask=mask)


class ModelNew(nn.Module):
    def forward(self, a, b):
        (m, k), n = a.shape, b.shape[1]
        c = torch.empty(m, n, device=a.device)
        product[triton.cdiv(m, 32), triton.cdiv(n, 32)](a, b, c, m, n, k, BM=32, BN=32, BK=32)
        return c
