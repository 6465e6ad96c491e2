"""The task of the split rows in prompts: few rows, which are long."""

import torch
import torch.nn as nn

length = 18436


class Model(nn.Module):
    def __init__(self, length: int):
        super().__init__()
        self.norm = nn.LayerNorm(length)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def get_inputs():
    return [torch.randn(3, length)]


def get_init_inputs():
    return [length]
