import torch
import triton
import triton.language as tl


@triton.jit
def mix(x_ptr, h_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(h_ptr + i, tl.sigmoid(tl.load(x_ptr + i) - tl.load(h_ptr + i)))


def drive(x):
    h = torch.zeros_like(x[0])

    def advance(frame):
        mix[(1,)](frame.contiguous(), h, B=32)
        return h.clone()

    return torch.stack([advance(frame) for frame in x])
