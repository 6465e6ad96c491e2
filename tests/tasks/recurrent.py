import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, batch_first=True)

    def forward(self, x, h):
        return self.gru(x, h)[1]


def get_inputs():
    return [torch.randn(4, 300, 16), torch.randn(1, 4, 32)]


def get_init_inputs():
    return [16, 32]
