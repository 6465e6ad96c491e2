"""So little work that an evaluation is nothing but overhead."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


def get_inputs():
    return [torch.randn(128, 1024)]


def get_init_inputs():
    return []
