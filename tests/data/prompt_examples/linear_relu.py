"""The task of the products in prompts: relu(linear(x)). No side is a multiple of a tile."""

import torch
import torch.nn as nn

rows = 133


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.randn(rows, 76)]


def get_init_inputs():
    return [76, 140]
