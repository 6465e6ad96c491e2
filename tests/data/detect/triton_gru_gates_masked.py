import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK_B": 2}, num_warps=4)], key=["batch"])
@triton.jit
def gru_forward(
    gi_ptr, whh_ptr, bhh_ptr, out_ptr,
    batch, steps,
    H: tl.constexpr,
    BLOCK_B: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_B + tl.arange(0, BLOCK_B)
    units = tl.arange(0, H)
    row_mask = rows[:, None] < batch
    w_r = tl.load(whh_ptr + units[None, :] * H + units[:, None])
    w_z = tl.load(whh_ptr + (H + units[None, :]) * H + units[:, None])
    w_n = tl.load(whh_ptr + (2 * H + units[None, :]) * H + units[:, None])
    b_n = tl.load(bhh_ptr + 2 * H + units)
    h = tl.zeros((BLOCK_B, H), dtype=tl.float32)
    for step in range(0, steps):
        base = gi_ptr + (step * batch + rows[:, None]) * 3 * H + units[None, :]
        i_r = tl.load(base, mask=row_mask, other=0.0)
        i_z = tl.load(base + H, mask=row_mask, other=0.0)
        i_n = tl.load(base + 2 * H, mask=row_mask, other=0.0)
        r = tl.sigmoid(i_r + tl.sum(h[:, :, None] * w_r[None, :, :], axis=1))
        z = tl.sigmoid(i_z + tl.sum(h[:, :, None] * w_z[None, :, :], axis=1))
        pre = i_n + r * (tl.sum(h[:, :, None] * w_n[None, :, :], axis=1) + b_n[None, :])
        n = 2.0 * tl.sigmoid(2.0 * pre) - 1.0
        h = (1.0 - z) * n + z * h
        tl.store(out_ptr + (step * batch + rows[:, None]) * H + units[None, :], h, mask=row_mask)


def gru(gates, w, b):
    steps, batch, width = gates.shape
    out = torch.empty(steps, batch, width // 3)
    grid = lambda meta: (triton.cdiv(batch, meta["BLOCK_B"]),)
    gru_forward[grid](gates, w, b, out, batch, steps, H=width // 3)
    return out


def drive(x):
    torch.manual_seed(1)
    return gru(torch.cat([x, x, x], dim=2), torch.randn(48, 16) * 0.1, torch.randn(48))
