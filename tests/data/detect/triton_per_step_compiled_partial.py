from functools import partial

import torch
import triton
import triton.language as tl


@triton.jit
def mix(x_ptr, h_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o_ptr + i, tl.sigmoid(tl.load(x_ptr + i) - tl.load(h_ptr + i)))


def _cell(block, x, h):
    out = torch.empty_like(h)
    mix[(h.numel() // block,)](x.contiguous(), h, out, h.numel(), B=block)
    return out


cell = partial(_cell, 16)


def drive(x):
    h, t = torch.zeros_like(x[0]), 0
    while True:
        if t >= len(x):
            break
        h = cell(x[t], h)
        t += 1
    return h[None]
