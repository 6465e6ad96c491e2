import torch
import triton
import triton.language as tl


@triton.jit
def cell(x_ptr, h_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o_ptr + i, tl.sigmoid(tl.load(x_ptr + i) + tl.load(h_ptr + i)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        h = torch.zeros(64)
        def step(t):
            nonlocal h
            o = torch.empty_like(h)
            cell[(1,)](x[t], h, o, N=64)
            h = o
        for t in range(x.shape[0]):
            step(t)
        return h
