# expect: resource.shared_memory
# tools: triton
# limit: 101376
import torch
import triton
import triton.language as tl


@triton.jit
def big_gemm(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
        b = tl.load(b_ptr + k[:, None] * N + n[None, :])
        acc += tl.dot(a, b)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(1024, 1024))

    def forward(self, x):
        x = torch.cat([x] * 8, dim=1)
        c = torch.empty(64, 1024)
        big_gemm[(1, 8)](x, self.w, c, 64, 1024, 1024, BM=64, BN=128, BK=128, num_warps=8, num_stages=4)
        return c
