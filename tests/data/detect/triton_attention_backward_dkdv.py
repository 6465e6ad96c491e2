import torch
import triton
import triton.language as tl


@triton.jit
def _bwd_preprocess(O, DO, Delta, D: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, D)
    o = tl.load(O + rows[:, None] * D + cols[None, :]).to(tl.float32)
    do = tl.load(DO + rows[:, None] * D + cols[None, :]).to(tl.float32)
    tl.store(Delta + rows, tl.sum(o * do, axis=1))


@triton.jit
def _dkdv_inner(dk, dv, Q, k, v, DO, M, Delta, start_m, num_steps, stride_tok,
                BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr, start_n, MASK: tl.constexpr):
    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_n = start_n + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    qT_ptrs = Q + offs_m[None, :] * stride_tok + offs_d[:, None]
    do_ptrs = DO + offs_m[:, None] * stride_tok + offs_d[None, :]
    curr_m = start_m
    for blk in range(num_steps):
        qT = tl.load(qT_ptrs)
        offs_m = curr_m + tl.arange(0, BLOCK_M)
        m = tl.load(M + offs_m)
        qkT = tl.dot(k, qT)
        pT = tl.math.exp2(qkT - m[None, :])
        if MASK:
            pT = tl.where(offs_m[None, :] >= offs_n[:, None], pT, 0.0)
        do = tl.load(do_ptrs)
        dv += tl.dot(pT.to(tl.float16), do)
        Di = tl.load(Delta + offs_m)
        dpT = tl.dot(v, tl.trans(do)).to(tl.float32)
        dsT = pT * (dpT - Di[None, :])
        dk += tl.dot(dsT.to(tl.float16), tl.trans(qT))
        curr_m += BLOCK_M
        qT_ptrs += BLOCK_M * stride_tok
        do_ptrs += BLOCK_M * stride_tok
    return dk, dv


@triton.jit
def _attn_bwd(Q, K, V, DO, DK, DV, M, Delta, scale, N_CTX, stride_tok, stride_head,
              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr):
    pid = tl.program_id(0)
    adj = tl.program_id(1) * stride_head
    Q += adj
    K += adj
    V += adj
    DO += adj
    DK += adj
    DV += adj
    M += tl.program_id(1) * N_CTX
    Delta += tl.program_id(1) * N_CTX
    start_n = pid * BLOCK_N
    offs_n = start_n + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    dv = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    dk = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    k = tl.load(K + offs_n[:, None] * stride_tok + offs_d[None, :])
    v = tl.load(V + offs_n[:, None] * stride_tok + offs_d[None, :])
    dk, dv = _dkdv_inner(dk, dv, Q, k, v, DO, M, Delta, start_n, BLOCK_N // BLOCK_M, stride_tok,
                         BLOCK_M, BLOCK_N, D, start_n, MASK=True)
    start_m = start_n + BLOCK_N
    dk, dv = _dkdv_inner(dk, dv, Q, k, v, DO, M, Delta, start_m, (N_CTX - start_m) // BLOCK_M, stride_tok,
                         BLOCK_M, BLOCK_N, D, start_n, MASK=False)
    tl.store(DV + offs_n[:, None] * stride_tok + offs_d[None, :], dv)
    tl.store(DK + offs_n[:, None] * stride_tok + offs_d[None, :], dk * scale)


def backward(q, k, v, o, do, m, scale):
    heads, n_ctx, d = q.shape
    delta = torch.empty(heads, n_ctx, device=q.device)
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    _bwd_preprocess[(heads * n_ctx // 64,)](o, do, delta, D=d, BLOCK=64)
    _attn_bwd[(n_ctx // 128, heads)](q, k, v, do, dk, dv, m, delta, scale, n_ctx, q.stride(1), q.stride(0),
                                     BLOCK_M=32, BLOCK_N=128, D=d)
    return dk, dv
