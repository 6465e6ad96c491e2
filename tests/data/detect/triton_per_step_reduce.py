import functools

import torch
import triton
import triton.language as tl


@triton.jit
def mix(x_ptr, h_ptr, o_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o_ptr + i, tl.sigmoid(tl.load(x_ptr + i) - tl.load(h_ptr + i)))


def step(h, x):
    out = torch.empty_like(h)
    mix[(1,)](x.contiguous(), h, out, B=32)
    return out


def drive(x):
    return functools.reduce(step, x.unbind(0), torch.zeros_like(x[0]))[None]
