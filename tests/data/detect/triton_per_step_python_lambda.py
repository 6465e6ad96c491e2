import torch
import triton
import triton.language as tl


@triton.jit
def cell(x_ptr, h_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o_ptr + i, tl.sigmoid(tl.load(x_ptr + i) + tl.load(h_ptr + i)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        bufs = [torch.zeros(64), torch.zeros(64)]
        launch = lambda t: cell[(1,)](x[t], bufs[t % 2], bufs[(t + 1) % 2], N=64)
        for t in range(x.shape[0]):
            launch(t)
        return bufs[x.shape[0] % 2]
