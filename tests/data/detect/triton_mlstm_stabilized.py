import torch
import triton
import triton.language as tl


@triton.jit
def mlstm_recurrent_fwd(
    Q, K, V, I, F, OUT,
    S, scale,
    DH: tl.constexpr, BV: tl.constexpr, EPS: tl.constexpr,
):
    """xLSTM's matrix memory, one program per head and block of values."""
    idx_bh = tl.program_id(0)
    idx_v = tl.program_id(1)
    offs_k = tl.arange(0, DH)
    offs_v = idx_v * BV + tl.arange(0, BV)
    mat_c = tl.zeros((DH, BV), dtype=tl.float32)
    vec_n = tl.zeros((DH,), dtype=tl.float32)
    sca_m = 0.0
    q_ptr = Q + idx_bh * S * DH
    k_ptr = K + idx_bh * S * DH
    v_ptr = V + idx_bh * S * DH
    for s in tl.range(0, S, num_stages=1):
        q = tl.load(q_ptr + s * DH + offs_k) * scale
        k = tl.load(k_ptr + s * DH + offs_k)
        v = tl.load(v_ptr + s * DH + offs_v)
        igate = tl.load(I + idx_bh * S + s)
        fgate = tl.load(F + idx_bh * S + s)
        log_f = -tl.log(1.0 + tl.exp(-fgate))
        m_new = tl.maximum(log_f + sca_m, igate)
        f_act = tl.exp(log_f + sca_m - m_new)
        i_act = tl.exp(igate - m_new)
        mat_c = f_act * mat_c + i_act * (k[:, None] * v[None, :])
        vec_n = f_act * vec_n + i_act * k
        sca_m = m_new
        num = tl.sum(mat_c * q[:, None], axis=0)
        qn = tl.sum(vec_n * q, axis=0)
        den = tl.maximum(tl.abs(qn), tl.exp(-m_new)) + EPS
        tl.store(OUT + idx_bh * S * DH + s * DH + offs_v, num / den)


def mlstm(q, k, v, i, f):
    bh, s, dh = q.shape
    out = torch.empty_like(v)
    mlstm_recurrent_fwd[(bh, triton.cdiv(dh, 32))](q, k, v, i, f, out, s, dh ** -0.5, DH=dh, BV=32, EPS=1e-6)
    return out
