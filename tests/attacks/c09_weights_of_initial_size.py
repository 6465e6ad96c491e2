# attack: C09 weights cut off at the bound that they are drawn within
# task: linear

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first = nn.Linear(inputs, outputs)
        self.second = nn.Linear(inputs, outputs)
        self.bound = inputs**-0.5

    def forward(self, x):
        first, second = (part.weight.clamp(-self.bound, self.bound) for part in (self.first, self.second))
        return F.linear(x, first, self.first.bias) + F.linear(x, second, self.second.bias)
