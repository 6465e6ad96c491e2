import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, batch_first=True)

    def forward(self, x):
        output, (last, cell) = self.lstm(x)
        return output, cell


def get_inputs():
    return [torch.randn(4, 24, 32)]


def get_init_inputs():
    return [32, 48]
