import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({}, num_warps=w, num_stages=s) for w in (2, 4) for s in (1, 2)],
    key=["K", "V", "BT"],
)
@triton.jit
def chunk_delta_rule_fwd_h(
    k, v, d, v_new, h, final_state,
    T, K: tl.constexpr, V: tl.constexpr,
    BT: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr, NT: tl.constexpr,
):
    i_v, i_bh = tl.program_id(0), tl.program_id(1)
    b_h = tl.zeros([BK, BV], dtype=tl.float32)
    for i_t in range(NT):
        p_h = tl.make_block_ptr(h + i_bh * NT * K * V + i_t * K * V, (K, V), (V, 1), (0, i_v * BV), (BK, BV), (1, 0))
        tl.store(p_h, b_h.to(p_h.dtype.element_ty), boundary_check=(0, 1))
        p_k = tl.make_block_ptr(k + i_bh * T * K, (K, T), (1, K), (0, i_t * BT), (BK, BT), (0, 1))
        p_d = tl.make_block_ptr(d + i_bh * T * K, (T, K), (K, 1), (i_t * BT, 0), (BT, BK), (1, 0))
        p_v = tl.make_block_ptr(v + i_bh * T * V, (T, V), (V, 1), (i_t * BT, i_v * BV), (BT, BV), (1, 0))
        p_n = tl.make_block_ptr(v_new + i_bh * T * V, (T, V), (V, 1), (i_t * BT, i_v * BV), (BT, BV), (1, 0))
        b_k = tl.load(p_k, boundary_check=(0, 1))
        b_d = tl.load(p_d, boundary_check=(0, 1))
        b_v = tl.load(p_v, boundary_check=(0, 1))
        b_v -= tl.dot(b_d, b_h.to(b_k.dtype))
        tl.store(p_n, b_v.to(p_n.dtype.element_ty), boundary_check=(0, 1))
        b_h += tl.dot(b_k, b_v.to(b_k.dtype), allow_tf32=False)
    p_f = tl.make_block_ptr(final_state + i_bh * K * V, (K, V), (V, 1), (0, i_v * BV), (BK, BV), (1, 0))
    tl.store(p_f, b_h, boundary_check=(0, 1))


class ChunkDelta(torch.nn.Module):
    def __init__(self, chunk=64):
        super().__init__()
        self.chunk = chunk

    def forward(self, k, v, d):
        bh, T, K = k.shape
        V = v.shape[-1]
        NT = triton.cdiv(T, self.chunk)
        h = k.new_empty(bh, NT, K, V)
        vn = torch.empty_like(v)
        fs = torch.empty(bh, K, V, device=k.device)
        BV = 32
        chunk_delta_rule_fwd_h[(triton.cdiv(V, BV), bh)](k, v, d, vn, h, fs, T, K=K, V=V, BT=self.chunk,
                                                         BK=triton.next_power_of_2(K), BV=BV, NT=NT)
        return h, vn, fs
