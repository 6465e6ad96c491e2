# honest: all of the branch
# task: residual

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.full((width,), 1e-5))

    def forward(self, x):
        return torch.addcmul(x, self.scale, torch.tanh(self.linear(x)))
