"""A stacked gated recurrent unit that returns only the last hidden state of every layer."""

import torch
import torch.nn as nn

sequence = 96
batch = 8
input_size = 64
hidden_size = 96
num_layers = 3


class Model(nn.Module):
    """A GRU of several layers; h0 and the result are (layers, batch, hidden)."""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size, num_layers)

    def forward(self, x: torch.Tensor, h0: torch.Tensor) -> torch.Tensor:
        _, h_n = self.gru(x, h0)
        return h_n


def get_inputs():
    return [torch.randn(sequence, batch, input_size), torch.randn(num_layers, batch, hidden_size)]


def get_init_inputs():
    return [input_size, hidden_size, num_layers]
