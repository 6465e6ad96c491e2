import torch
import triton
import triton.language as tl


@triton.jit
def inner(acc, l_i, m_i, q, k_base, v_base, lo, hi, stride, BN: tl.constexpr):
    for start in tl.range(lo, hi, BN, warp_specialize=False):
        k = tl.load(k_base + start * stride)
        qk = tl.dot(q, k)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        qk = qk - m_ij[:, None]
        p = tl.math.exp2(qk)
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(v_base + start * stride)
        acc = tl.dot(p, v, acc)
        m_i = m_ij
    return acc, l_i, m_i


@triton.jit
def attention(Q, K, V, O, length, stride, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    d = tl.arange(0, D)
    q = tl.load(Q + m[:, None] * stride + d[None, :])
    m_i = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    k_base = K + n[None, :] * stride + d[:, None]
    v_base = V + n[:, None] * stride + d[None, :]
    for stage in tl.static_range(2):
        lo = 0 if stage == 0 else length // 2
        hi = length // 2 if stage == 0 else length
        acc, l_i, m_i = inner(acc, l_i, m_i, q, k_base, v_base, lo, hi, stride, BN)
    acc = acc / l_i[:, None]
    tl.store(O + m[:, None] * stride + d[None, :], acc)


def run(q, k, v, o):
    attention[(q.shape[0] // 64, 8)](q, k, v, o, q.shape[0], 64, BM=64, BN=64, D=64)
