# honest: weights transposed once and kept
# task: mlp

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.first = nn.Linear(width, hidden)
        self.second = nn.Linear(hidden, width)
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = [layer.weight.detach().t().contiguous() for layer in (self.first, self.second)]
        hidden = nn.functional.gelu(torch.addmm(self.first.bias, x, self.packed[0]))
        return torch.addmm(self.second.bias, hidden, self.packed[1])
