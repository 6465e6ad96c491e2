import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, batch_first=True)

    def forward(self, x, h0):
        output, last = self.gru(x, h0)
        return output[:, -1], last


def get_inputs():
    return [torch.randn(4, 96, 32), torch.randn(1, 4, 64)]


def get_init_inputs():
    return [32, 64]
