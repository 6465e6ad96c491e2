# honest: adds up the weights in the constructor, where they do not change any more
# task: linear

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        first, second = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs)
        self.weight = nn.Parameter((first.weight + second.weight).detach())
        self.bias = nn.Parameter((first.bias + second.bias).detach())

    def forward(self, x):
        return nn.functional.linear(x, self.weight, self.bias)
