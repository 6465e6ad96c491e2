import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mm(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, sam, sak, sbk, sbn, alpha, beta, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        rk = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * sam + rk[None, :] * sak, mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(b_ptr + rk[:, None] * sbk + rn[None, :] * sbn, mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    m = (rm[:, None] < M) & (rn[None, :] < N)
    c = tl.load(c_ptr + rm[:, None] * N + rn[None, :], mask=m, other=0.0)
    tl.store(d_ptr + rm[:, None] * N + rn[None, :], alpha * acc + beta * c, mask=m)


def fused_mm(a, b, c, alpha, beta):
    out = torch.empty_like(c)
    m, n = c.shape
    mm[(triton.cdiv(m, 64), triton.cdiv(n, 64))](a, b, c, out, m, n, a.shape[1], *a.stride(), *b.stride(), alpha, beta,
                                                BM=64, BN=64, BK=32)
    return out


class ModelNew(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def forward(self, grad):
        x = grad / (grad.norm() + 1e-7)
        zero = torch.zeros(x.shape[0], x.shape[0], device=x.device)
        for _ in range(self.steps):
            gram = fused_mm(x, x.t(), zero, 1.0, 0.0)
            poly = fused_mm(gram, gram, gram, 2.0315, -4.775)
            x = fused_mm(poly, x, x, 1.0, 3.4445)
        return x
