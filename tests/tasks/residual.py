import torch
import torch.nn as nn


class Model(nn.Module):
    """A layer scale that is small at first: nearly the identity."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.full((width,), 1e-5))

    def forward(self, x):
        return x + self.scale * torch.tanh(self.linear(x))


def get_inputs():
    return [torch.randn(128, 128)]


def get_init_inputs():
    return [128]
