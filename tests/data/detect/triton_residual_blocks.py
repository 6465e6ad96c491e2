import torch
import triton
import triton.language as tl


@triton.jit
def block(x_ptr, w1, w2, y_ptr, C: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + r * C + c)
    hidden = tl.maximum(tl.sum(tl.load(w1 + c[:, None] * C + c[None, :]) * x[None, :], 1), 0)
    y = tl.sum(tl.load(w2 + c[:, None] * C + c[None, :]) * hidden[None, :], 1)
    tl.store(y_ptr + r * C + c, x + y)


class Block(torch.nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w1 = torch.nn.Parameter(torch.randn(c, c))
        self.w2 = torch.nn.Parameter(torch.randn(c, c))

    def forward(self, x):
        y = torch.empty_like(x)
        block[(x.shape[0],)](x, self.w1, self.w2, y, C=x.shape[1])
        return y


class ModelNew(torch.nn.Module):
    def __init__(self, c, n):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(c) for _ in range(n))

    def forward(self, x):
        for i, b in enumerate(self.blocks):
            x = b(x)
        return x
