# expect: triton.missing_tanh
# tools: triton
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _mish(v):
    sp = tl.where(v > 20.0, v, tl.log(1.0 + tl.exp(v)))
    return v * tl.tanh(sp)


@triton.jit
def matmul_mish(a_ptr, b_ptr, c_ptr, M, N, K,
                BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :], mask=(rm[:, None] < M) & ((k + rk)[None, :] < K), other=0.0)
        b = tl.load(b_ptr + (k + rk)[:, None] * N + rn[None, :], mask=((k + rk)[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    acc = _mish(acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(128, 64))

    def forward(self, x):
        M, K = x.shape
        N = self.weight.shape[1]
        out = torch.empty((M, N), device=x.device, dtype=x.dtype)
        matmul_mish[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, self.weight, out, M, N, K, 32, 32, 32)
        return out
