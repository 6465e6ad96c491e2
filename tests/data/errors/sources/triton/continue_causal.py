# expect: triton.unsupported_syntax
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def causal_attn_fwd(Q, K, V, Out, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    start_m = tl.program_id(0) * BM
    rm = start_m + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q = tl.load(Q + rm[:, None] * D + rd[None, :])
    m_i = tl.full([BM], float("-inf"), tl.float32)
    l_i = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start_n in range(0, T, BN):
        if start_n > start_m + BM - 1:
            continue
        rn = start_n + tl.arange(0, BN)
        k = tl.load(K + rn[:, None] * D + rd[None, :])
        v = tl.load(V + rn[:, None] * D + rd[None, :])
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where(rm[:, None] >= rn[None, :], s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v)
        m_i = m_new
    tl.store(Out + rm[:, None] * D + rd[None, :], acc / l_i[:, None])

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        causal_attn_fwd[(x.shape[0] // 16,)](x, x, x, out, x.shape[0], 0.088, D=128, BM=16, BN=16)
        return out
