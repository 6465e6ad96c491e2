"""A gated recurrent unit that returns its whole output sequence."""

import torch
import torch.nn as nn

sequence = 128
batch = 8
input_size = 64
hidden_size = 128


class Model(nn.Module):
    """One GRU layer; x is (sequence, batch, input), h0 is (1, batch, hidden). Returns (sequence, batch, hidden)."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size)

    def forward(self, x: torch.Tensor, h0: torch.Tensor) -> torch.Tensor:
        output, _ = self.gru(x, h0)
        return output


def get_inputs():
    return [torch.randn(sequence, batch, input_size), torch.randn(1, batch, hidden_size)]


def get_init_inputs():
    return [input_size, hidden_size]
