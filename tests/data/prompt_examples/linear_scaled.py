"""The task of the example in prompts for torch: a linear layer, scaled."""

import torch
import torch.nn as nn

rows = 33


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int, scale: float):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * self.scale


def get_inputs():
    return [torch.randn(rows, 48)]


def get_init_inputs():
    return [48, 40, 0.5]
