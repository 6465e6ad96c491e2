import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """A maximum that ignores NaN, as that of C does."""

    def forward(self, x):
        return torch.fmax(x, torch.zeros_like(x))
