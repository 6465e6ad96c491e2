"""Batch normalization in training mode: statistics of the batch, and running statistics that every call updates."""

import torch
import torch.nn as nn

batch = 32
channels = 32
height = 64
width = 64


class Model(nn.Module):
    """BatchNorm2d as it is constructed, that is in training mode."""

    def __init__(self, channels: int):
        super().__init__()
        self.bn = nn.BatchNorm2d(channels)
        nn.init.uniform_(self.bn.weight, 0.5, 1.5)
        nn.init.uniform_(self.bn.bias, -0.5, 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.bn(x)


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return [channels]
