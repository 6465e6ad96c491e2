import torch
import torch.nn as nn


class Model(nn.Module):
    """There is one row only."""

    def forward(self, x):
        return torch.softmax(x, dim=-1), x.var(dim=-1, unbiased=False)


def get_inputs():
    return [torch.randn(1, 8192)]


def get_init_inputs():
    return []
