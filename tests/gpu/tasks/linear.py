"""Two linear layers, so that weights matter."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return [512]
