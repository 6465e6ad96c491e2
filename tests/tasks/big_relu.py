import torch
import torch.nn as nn


class Model(nn.Module):
    """Long enough for the worker's clock to see what a forged one hides."""

    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(4096, 1024)]


def get_init_inputs():
    return []
