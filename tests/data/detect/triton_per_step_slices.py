import torch
import triton
import triton.language as tl


@triton.jit
def cell(x_ptr, h_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o_ptr + i, tl.sigmoid(tl.load(x_ptr + i) + tl.load(h_ptr + i)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        hs = torch.zeros(x.shape[0] + 1, 64)
        for t in range(x.shape[0]):
            cell[(1,)](x[t], hs[t], hs[t + 1], N=64)
        return hs[1:]
