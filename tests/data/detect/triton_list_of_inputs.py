import torch
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o_ptr + i, tl.load(x_ptr + i) + 1.0)


class ModelNew(torch.nn.Module):
    def forward(self, xs):
        outs = []
        for x in xs:
            o = torch.empty_like(x)
            add[(1,)](x, o, N=64)
            outs.append(o)
        return outs
