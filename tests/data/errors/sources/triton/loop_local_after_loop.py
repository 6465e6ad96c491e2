# expect: triton.undefined_name
# tools: triton
import torch
import triton
import triton.language as tl

@triton.jit
def online_softmax(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = -float("inf")
    s = 0.0
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + row * N + cols, mask=cols < N, other=-float("inf"))
        m_new = tl.maximum(m, tl.max(v, axis=0))
        s = s * tl.exp(m - m_new) + tl.sum(tl.exp(v - m_new), axis=0)
        m = m_new
    tl.store(y_ptr + row * N + cols, tl.exp(v - m) / s, mask=cols < N)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        online_softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
        return y
