"""Layer normalization over the last dimension, with a learned scale and shift."""

import torch
import torch.nn as nn

batch = 96
sequence = 64
features = 1024


class Model(nn.Module):
    """(x - mean) / sqrt(var + eps) * weight + bias, per row."""

    def __init__(self, features: int):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        # The defaults, ones and zeros, would let a kernel leave them out unnoticed.
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.uniform_(self.norm.bias, -0.5, 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def get_inputs():
    return [torch.randn(batch, sequence, features)]


def get_init_inputs():
    return [features]
