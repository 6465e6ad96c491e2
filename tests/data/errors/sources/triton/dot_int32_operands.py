# expect: triton.dot_type
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def int_gemm(a_ptr, b_ptr, c_ptr, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
        b = tl.load(b_ptr + k[:, None] * N + n[None, :])
        acc += tl.dot(a, b).to(tl.float32)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        q = (x * 127).to(torch.int32)
        w = torch.randint(-127, 127, (128, 64), dtype=torch.int32)
        c = torch.empty(64, 64)
        int_gemm[(2, 2)](q, w, c, 128, 64, BM=32, BN=32, BK=32)
        return c
