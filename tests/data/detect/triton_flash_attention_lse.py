import torch
import triton
import triton.language as tl


@triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@triton.jit
def fwd(Q, K, V, Out, Lse, Tmp, scale, n, EVEN: tl.constexpr, B: tl.constexpr, D: tl.constexpr):
    start = tl.program_id(0)
    offs_m = start * B + tl.arange(0, B)
    offs_n = tl.arange(0, B)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + offs_m[:, None] * D + offs_d[None, :])
    k_ptrs = K + offs_n[:, None] * D + offs_d[None, :]
    v_ptrs = V + offs_n[:, None] * D + offs_d[None, :]
    t_ptrs = Tmp + offs_m
    lse_i = tl.zeros([B], dtype=tl.float32) - float("inf")
    m_i = tl.zeros([B], dtype=tl.float32) - float("inf")
    acc_o = tl.zeros([B, D], dtype=tl.float32)
    for start_n in range(0, (start + 1) * B, B):
        start_n = tl.multiple_of(start_n, B)
        k = tl.load(k_ptrs + start_n * D)
        qk = tl.dot(q, tl.trans(k))
        qk += tl.where(offs_m[:, None] >= (start_n + offs_n)[None, :], 0, float("-inf"))
        m_ij = tl.maximum(tl.max(qk, 1) * scale, lse_i)
        p = tl.exp(qk * scale - m_ij[:, None])
        l_ij = tl.sum(p, 1)
        acc_o_scale = tl.exp(m_i - m_ij)
        tl.store(t_ptrs, acc_o_scale)
        acc_o_scale = tl.load(t_ptrs)
        acc_o = acc_o * acc_o_scale[:, None]
        v = tl.load(v_ptrs + start_n * D)
        acc_o += tl.dot(p.to(v.dtype), v)
        m_i = m_ij
        l_i_new = tl.exp(lse_i - m_ij) + l_ij
        lse_i = m_ij + tl.log(l_i_new)
    o_scale = tl.exp(m_i - lse_i)
    acc_o = acc_o * o_scale[:, None]
    tl.store(Lse + offs_m, lse_i)
    tl.store(Out + offs_m[:, None] * D + offs_d[None, :], acc_o)


def run(q, k, v, o, lse, tmp):
    fwd[(q.shape[0] // 64,)](q, k, v, o, lse, tmp, 0.125, q.shape[0], B=64, D=64)
