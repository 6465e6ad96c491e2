import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(8, 16, 12, 12)]


def get_init_inputs():
    return [16]
