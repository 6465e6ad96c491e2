import torch
import torch.nn as nn


class Model(nn.Module):
    """Of many numbers between 0 and 1, the maximum is nearly 1."""

    def forward(self, x):
        return x.amax(dim=-1)


def get_inputs():
    return [torch.rand(64, 4096)]


def get_init_inputs():
    return []
