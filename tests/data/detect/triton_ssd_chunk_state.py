import torch
import triton
import triton.language as tl


@triton.jit
def _chunk_state_passing(
    states_ptr, dA_ptr, out_ptr, final_ptr,
    nchunks, dim,
    stride_sb, stride_sc, stride_sh,
    stride_ab, stride_ah, stride_ac,
    BLOCK: tl.constexpr,
):
    """Second pass of the chunked state space scan: the state at the beginning of each chunk."""
    pid_m = tl.program_id(0)
    pid_b = tl.program_id(1)
    pid_h = tl.program_id(2)
    offs = pid_m * BLOCK + tl.arange(0, BLOCK)
    mask = offs < dim
    states_ptr += pid_b * stride_sb + pid_h * stride_sh
    out_ptr += pid_b * stride_sb + pid_h * stride_sh
    dA_ptr += pid_b * stride_ab + pid_h * stride_ah

    running = tl.zeros((BLOCK,), dtype=tl.float32)
    for c in range(nchunks):
        tl.store(out_ptr + offs, running, mask=mask)
        new = tl.load(states_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        dA = tl.load(dA_ptr).to(tl.float32)
        running = tl.exp(dA) * running + new
        states_ptr += stride_sc
        out_ptr += stride_sc
        dA_ptr += stride_ac
    tl.store(final_ptr + (pid_b * tl.num_programs(2) + pid_h) * dim + offs, running, mask=mask)


@triton.jit
def _chunk_state(x_ptr, b_ptr, dt_ptr, states_ptr, CHUNK: tl.constexpr, P: tl.constexpr, N: tl.constexpr):
    pid_c = tl.program_id(0)
    pid_bh = tl.program_id(1)
    nchunks = tl.num_programs(0)
    offs_t = tl.arange(0, CHUNK)
    offs_p = tl.arange(0, P)
    offs_n = tl.arange(0, N)
    base = (pid_bh * nchunks + pid_c) * CHUNK
    cum = tl.load(dt_ptr + base + offs_t)
    last = tl.load(dt_ptr + base + CHUNK - 1)
    scale = tl.exp(last - cum)
    x = tl.load(x_ptr + (base + offs_t)[None, :] * P + offs_p[:, None])
    b = tl.load(b_ptr + (base + offs_t)[:, None] * N + offs_n[None, :])
    acc = tl.dot((x * scale[None, :]).to(b.dtype), b)
    tl.store(states_ptr + (pid_bh * nchunks + pid_c) * P * N + offs_p[:, None] * N + offs_n[None, :], acc)


def ssd_states(x, b, dt_cum, chunk):
    bh, length, p = x.shape
    n = b.shape[-1]
    nchunks = length // chunk
    states = torch.empty(1, nchunks, bh, p * n, device=x.device, dtype=torch.float32)
    _chunk_state[(nchunks, bh)](x, b, dt_cum, states, CHUNK=chunk, P=p, N=n)
    passed = torch.empty_like(states)
    final = torch.empty(1, bh, p * n, device=x.device, dtype=torch.float32)
    last = dt_cum.view(1, bh, nchunks, chunk)[..., -1].contiguous()
    grid = lambda META: (triton.cdiv(p * n, META["BLOCK"]), 1, bh)
    _chunk_state_passing[grid](
        states, last, passed, final, nchunks, p * n,
        states.stride(0), states.stride(1), states.stride(2),
        last.stride(0), last.stride(1), last.stride(2), BLOCK=256,
    )
    return passed, final
