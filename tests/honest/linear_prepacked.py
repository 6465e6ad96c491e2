# honest: draws in the reference's order, then keeps one matrix for both layers
# task: linear

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        first, second = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs)
        self.packed = nn.Parameter(torch.cat([first.weight, second.weight]).t().contiguous())
        self.bias = nn.Parameter(torch.cat([first.bias, second.bias]))

    def forward(self, x):
        first, second = (x @ self.packed + self.bias).chunk(2, dim=-1)
        return first + second
