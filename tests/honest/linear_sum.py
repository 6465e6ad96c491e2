# honest: one layer with the sum of both weights
# task: linear

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first = nn.Linear(inputs, outputs)
        self.second = nn.Linear(inputs, outputs)

    def forward(self, x):
        return nn.functional.linear(x, self.first.weight + self.second.weight, self.first.bias + self.second.bias)
