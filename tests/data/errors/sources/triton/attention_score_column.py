# expect: triton.tensor_index
# tools: triton
import torch
import triton
import triton.language as tl


@triton.jit
def naive_attention(Q, K, V, O, T, D: tl.constexpr, BLOCK_T: tl.constexpr):
    t = tl.program_id(0)
    d = tl.arange(0, D)
    q = tl.load(Q + t * D + d)
    scores = tl.zeros((1, BLOCK_T), dtype=tl.float32)
    for j in range(T):
        k = tl.load(K + j * D + d)
        scores[:, j] += tl.sum(q * k, axis=0)
    p = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    tl.store(O + t * D + d, q * tl.sum(p))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        o = torch.empty_like(x)
        naive_attention[(x.shape[0],)](x, x, x, o, x.shape[0], D=128, BLOCK_T=64)
        return o
