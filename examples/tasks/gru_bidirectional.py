"""A gated recurrent unit that reads its input in both directions."""

import torch
import torch.nn as nn

sequence = 96
batch = 8
input_size = 64
hidden_size = 96


class Model(nn.Module):
    """One bidirectional GRU layer, batch first: x is (batch, sequence, input); returns (batch, sequence, 2 * hidden)."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.gru = nn.GRU(input_size, hidden_size, batch_first=True, bidirectional=True)

    def forward(self, x: torch.Tensor, h0: torch.Tensor) -> torch.Tensor:
        output, _ = self.gru(x, h0)
        return output


def get_inputs():
    return [torch.randn(batch, sequence, input_size), torch.randn(2, batch, hidden_size)]


def get_init_inputs():
    return [input_size, hidden_size]
