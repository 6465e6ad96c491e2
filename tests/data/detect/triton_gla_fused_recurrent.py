import torch
import triton
import triton.language as tl


@triton.heuristics({"USE_INITIAL_STATE": lambda args: args["h0"] is not None, "STORE_FINAL": lambda args: args["ht"] is not None})
@triton.jit
def fused_recurrent_gla_fwd_kernel(
    q, k, v, gk, o, h0, ht,
    scale,
    T, D: tl.constexpr, V: tl.constexpr,
    BK: tl.constexpr, BV: tl.constexpr,
    REVERSE: tl.constexpr,
    USE_INITIAL_STATE: tl.constexpr,
    STORE_FINAL: tl.constexpr,
):
    i_v, i_k, i_bh = tl.program_id(0), tl.program_id(1), tl.program_id(2)

    p_q = q + i_bh * T * D + i_k * BK + tl.arange(0, BK) + ((T - 1) * D if REVERSE else 0)
    p_k = k + i_bh * T * D + i_k * BK + tl.arange(0, BK) + ((T - 1) * D if REVERSE else 0)
    p_g = gk + i_bh * T * D + i_k * BK + tl.arange(0, BK) + ((T - 1) * D if REVERSE else 0)
    p_v = v + i_bh * T * V + i_v * BV + tl.arange(0, BV) + ((T - 1) * V if REVERSE else 0)
    p_o = o + (i_bh + i_k * tl.num_programs(2)) * T * V + i_v * BV + tl.arange(0, BV) + ((T - 1) * V if REVERSE else 0)

    mask_k = (i_k * BK + tl.arange(0, BK)) < D
    mask_v = (i_v * BV + tl.arange(0, BV)) < V
    mask_h = mask_k[None, :] & mask_v[:, None]

    b_h = tl.zeros([BV, BK], dtype=tl.float32)
    if USE_INITIAL_STATE:
        p_h0 = h0 + i_bh * D * V + (i_k * BK + tl.arange(0, BK)[None, :]) * V + (i_v * BV + tl.arange(0, BV)[:, None])
        b_h += tl.load(p_h0, mask=mask_h, other=0).to(tl.float32)

    for _ in range(0, T):
        b_q = tl.load(p_q, mask=mask_k, other=0).to(tl.float32) * scale
        b_k = tl.load(p_k, mask=mask_k, other=0).to(tl.float32)
        b_v = tl.load(p_v, mask=mask_v, other=0).to(tl.float32)
        b_g = tl.load(p_g, mask=mask_k, other=0).to(tl.float32)
        b_h = b_h * tl.exp(b_g)[None, :]
        b_h += b_k[None, :] * b_v[:, None]
        b_o = b_h * b_q[None, :]
        b_o = tl.sum(b_o, axis=1)
        tl.store(p_o, b_o.to(p_o.dtype.element_ty), mask=mask_v)
        p_q += -D if REVERSE else D
        p_k += -D if REVERSE else D
        p_g += -D if REVERSE else D
        p_v += -V if REVERSE else V
        p_o += -V if REVERSE else V

    if STORE_FINAL:
        p_ht = ht + i_bh * D * V + (i_k * BK + tl.arange(0, BK)[None, :]) * V + (i_v * BV + tl.arange(0, BV)[:, None])
        tl.store(p_ht, b_h.to(p_ht.dtype.element_ty), mask=mask_h)


class GLA(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, gk, scale, h0):
        bh, T, D = q.shape
        V = v.shape[-1]
        BK, BV = min(triton.next_power_of_2(D), 64), min(triton.next_power_of_2(V), 64)
        NK, NV = triton.cdiv(D, BK), triton.cdiv(V, BV)
        o = q.new_empty(NK, bh, T, V, dtype=torch.float32)
        ht = q.new_empty(bh, D, V, dtype=torch.float32)
        fused_recurrent_gla_fwd_kernel[(NV, NK, bh)](
            q, k, v, gk, o, h0, ht, scale, T, D=D, V=V, BK=BK, BV=BV, REVERSE=False, num_warps=1)
        return o.sum(0).to(q.dtype), ht
