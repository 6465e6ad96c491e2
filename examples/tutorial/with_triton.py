"""One program for each row: the row is read once, gated, summed, scaled and written."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gated_norm(hidden, gate, weight, output, width, epsilon, block: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, block)
    inside = column < width
    h = tl.load(hidden + row * width + column, mask=inside, other=0.0)
    g = tl.load(gate + row * width + column, mask=inside, other=0.0)
    w = tl.load(weight + column, mask=inside, other=0.0)
    gated = h * g * tl.sigmoid(g)
    scale = 1.0 / tl.sqrt(tl.sum(gated * gated, axis=0) / width + epsilon)
    tl.store(output + row * width + column, gated * scale * w, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, width: int, epsilon: float):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.epsilon = epsilon

    def forward(self, hidden: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        output = torch.empty_like(hidden)
        rows, width = hidden.shape
        gated_norm[(rows,)](hidden, gate, self.weight, output, width, self.epsilon, triton.next_power_of_2(width))
        return output
