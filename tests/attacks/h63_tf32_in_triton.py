# attack: H63 products in TF32, which Triton takes unless it is told otherwise
# task: long_matmul
# device: gpu
# timeout: 60

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, depth, K):
        a = tl.load(a_ptr + rows[:, None] * depth + start + inner[None, :])
        b = tl.load(b_ptr + (start + inner)[:, None] * N + columns[None, :])
        total += tl.dot(a, b, input_precision="tf32")
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty(16, 16, device=a.device)
        product[(1,)](a, b, c, a.shape[1], M=16, N=16, K=64)
        return c
