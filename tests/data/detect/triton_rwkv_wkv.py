import torch
import triton
import triton.language as tl


@triton.jit
def wkv(w_ptr, u_ptr, k_ptr, v_ptr, y_ptr, T, C, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    w = tl.load(w_ptr + c)
    u = tl.load(u_ptr + c)
    num = tl.zeros([BLOCK], dtype=tl.float32)
    den = tl.zeros([BLOCK], dtype=tl.float32)
    top = tl.full([BLOCK], -1e38, dtype=tl.float32)
    for t in range(0, T):
        at = (b * T + t) * C + c
        k = tl.load(k_ptr + at)
        v = tl.load(v_ptr + at)
        q = tl.maximum(top, u + k)
        e1 = tl.exp(top - q)
        e2 = tl.exp(u + k - q)
        tl.store(y_ptr + at, (e1 * num + e2 * v) / (e1 * den + e2))
        q = tl.maximum(top + w, k)
        e1 = tl.exp(top + w - q)
        e2 = tl.exp(k - q)
        num = e1 * num + e2 * v
        den = e1 * den + e2
        top = q


def wkv_forward(w, u, k, v):
    B, T, C = k.shape
    y = torch.empty_like(k)
    wkv[(B, triton.cdiv(C, 64))](w, u, k, v, y, T, C, BLOCK=64)
    return y
