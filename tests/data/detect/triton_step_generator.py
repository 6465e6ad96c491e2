import torch
import triton
import triton.language as tl


@triton.jit
def _k(x, h, w, o, D: tl.constexpr):
    i = tl.program_id(0)
    d = tl.arange(0, D)
    z = tl.sum(tl.load(w + i * D + d) * tl.load(h + d)) + tl.load(x + i)
    tl.store(o + i, 1.0 / (1.0 + tl.exp(-z)))


def states(xs, h, w):
    for x in xs:
        nxt = torch.empty_like(h)
        _k[h.shape](x, h, w, nxt, D=h.numel())
        yield nxt
        h = nxt


class ModelNew(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(d, d))

    def forward(self, xs):
        return torch.stack(list(states(xs, torch.zeros(xs.shape[1]), self.w)))
