# expect: resource.shared_memory
# tools: triton
# limit: 101376
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(b_ptr + (k + rk)[:, None] * N + rn[None, :])
        acc += tl.dot(a, b)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        M, K, N = 1024, 1024, 1024
        a, b = torch.rand(M, K), torch.rand(K, N)
        c = torch.empty(M, N)
        kernel[(M // 64, N // 64)](a, b, c, M, N, K, BM=256, BN=128, BK=32, num_stages=4, num_warps=8)
        return c
