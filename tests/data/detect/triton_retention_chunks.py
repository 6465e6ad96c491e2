import torch
import triton
import triton.language as tl


@triton.jit
def chunk_retention(q, k, v, o, gammas, T, H, scale, D: tl.constexpr, DV: tl.constexpr, C: tl.constexpr):
    bh = tl.program_id(0)
    gamma = tl.load(gammas + bh % H)
    pos = tl.arange(0, C)
    dk = tl.arange(0, D)
    dv = tl.arange(0, DV)
    log_g = tl.log(gamma)
    inner = tl.where(pos[:, None] >= pos[None, :], tl.exp((pos[:, None] - pos[None, :]) * log_g), 0.0)
    cross = tl.exp((pos + 1) * log_g)
    keep = tl.exp((C - 1 - pos) * log_g)
    whole = tl.exp(C * log_g)
    state = tl.zeros((D, DV), tl.float32)
    for c in range(0, tl.cdiv(T, C)):
        rows = c * C + pos
        qc = tl.load(q + (bh * T + rows[:, None]) * D + dk[None, :]) * scale
        kc = tl.load(k + (bh * T + rows[:, None]) * D + dk[None, :])
        vc = tl.load(v + (bh * T + rows[:, None]) * DV + dv[None, :])
        att = tl.dot(qc, tl.trans(kc)) * inner
        out = tl.dot(att.to(vc.dtype), vc) + tl.dot(qc, state.to(qc.dtype)) * cross[:, None]
        tl.store(o + (bh * T + rows[:, None]) * DV + dv[None, :], out)
        state = whole * state + tl.dot(tl.trans(kc * keep[:, None]), vc)


class Retention(torch.nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.register_buffer("gammas", 1 - 2.0 ** (-5 - torch.arange(heads).float()))
        self.heads = heads

    def forward(self, q, k, v):
        bh, t, d = q.shape
        o = torch.empty_like(v)
        chunk_retention[(bh,)](q, k, v, o, self.gammas, t, self.heads, d ** -0.5, D=d, DV=v.shape[-1], C=64)
        return o
