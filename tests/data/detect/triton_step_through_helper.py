import torch
import triton
import triton.language as tl


@triton.jit
def gate(x_ptr, h_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o_ptr + i, tl.sigmoid(tl.load(x_ptr + i) + tl.load(h_ptr + i)))


def launch(x, h):
    out = torch.empty_like(h)
    gate[(triton.cdiv(h.numel(), 256),)](x, h, out, h.numel(), B=256)
    return out


def one_step(x, h):
    return launch(x, h)


def model(x, h):
    outputs = []
    t = 0
    while t < x.shape[0]:
        h = one_step(x[t], h)
        outputs.append(h)
        t += 1
    return torch.stack(outputs)
