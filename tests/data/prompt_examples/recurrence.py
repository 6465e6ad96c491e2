"""The task of the recurrences in prompts: state = tanh(state @ weight.T), several times."""

import torch
import torch.nn as nn

rows = 20
units = 32
steps = 6


class Model(nn.Module):
    def __init__(self, units: int, steps: int):
        super().__init__()
        self.weight = nn.Parameter(0.2 * torch.randn(units, units))
        self.steps = steps

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        for _ in range(self.steps):
            state = torch.tanh(state @ self.weight.T)
        return state


def get_inputs():
    return [torch.randn(rows, units)]


def get_init_inputs():
    return [units, steps]
