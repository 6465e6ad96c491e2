import torch
import triton
import triton.language as tl


@triton.jit
def paged(q, k_cache, v_cache, table, out, ctx_len, max_blocks, BS: tl.constexpr, D: tl.constexpr):
    seq = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    o = tl.arange(0, BS)
    query = tl.load(q + (seq * tl.num_programs(1) + head) * D + d)
    running_max = float("-inf")
    running_sum = 0.0
    result = tl.zeros([D], dtype=tl.float32)
    n = tl.load(ctx_len + seq)
    blk = 0
    while blk * BS < n:
        page = tl.load(table + seq * max_blocks + blk)
        k = tl.load(k_cache + (page * BS + o)[:, None] * D + d[None, :])
        score = tl.sum(k * query[None, :], 1)
        score = tl.where(blk * BS + o < n, score, float("-inf"))
        m_new = tl.maximum(running_max, tl.max(score, 0))
        corr = tl.exp(running_max - m_new)
        p = tl.exp(score - m_new)
        v = tl.load(v_cache + (page * BS + o)[:, None] * D + d[None, :])
        result = result * corr + tl.sum(p[:, None] * v, 0)
        running_sum = running_sum * corr + tl.sum(p, 0)
        running_max = m_new
        blk += 1
    tl.store(out + (seq * tl.num_programs(1) + head) * D + d, result / running_sum)


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v, table, lens):
        out = torch.empty_like(q)
        paged[(q.shape[0], q.shape[1])](q, k, v, table, out, lens, table.shape[1], BS=16, D=q.shape[2])
        return out
