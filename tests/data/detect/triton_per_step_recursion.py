import torch
import triton
import triton.language as tl


@triton.jit
def mix(x_ptr, h_ptr, o_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o_ptr + i, tl.sigmoid(tl.load(x_ptr + i) - tl.load(h_ptr + i)))


def walk(x, h, t):
    if t == x.shape[0]:
        return h
    out = torch.empty_like(h)
    mix[(1,)](x[t].contiguous(), h, out, B=32)
    return walk(x, out, t + 1)


def drive(x):
    return walk(x, torch.zeros_like(x[0]), 0)[None]
