import torch
import triton
import triton.language as tl


@triton.jit
def scores(q, k, s, L, D: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0)
    d = tl.arange(0, D)
    qi = tl.load(q + i * D + d)
    for j0 in range(0, L, B):
        j = j0 + tl.arange(0, B)
        kj = tl.load(k + j[:, None] * D + d[None, :], mask=j[:, None] < L)
        tl.store(s + i * L + j, tl.sum(kj * qi[None, :], 1), mask=j < L)


class ModelNew(torch.nn.Module):
    def forward(self, q, k):
        heads = []
        for h in range(q.shape[0]):
            out = torch.empty(q.shape[1], k.shape[1], device=q.device)
            scores[(q.shape[1],)](q[h], k[h], out, k.shape[1], D=q.shape[2], B=64)
            heads.append(out.softmax(-1))
        return torch.stack(heads)
