import torch
import triton
import triton.language as tl
from collections import deque


@triton.jit
def cell(x_ptr, h_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o_ptr + i, tl.sigmoid(tl.load(x_ptr + i) + tl.load(h_ptr + i)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        pending = deque(x.unbind(0))
        h = torch.zeros(64)
        spare = torch.zeros(64)
        while pending:
            cell[(1,)](pending.popleft(), h, spare, N=64)
            h, spare = spare, h
        return h
