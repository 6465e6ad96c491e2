import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return x * y


def get_inputs():
    return [torch.randn(64, 256, dtype=torch.complex64), torch.randn(64, 256, dtype=torch.complex64)]


def get_init_inputs():
    return []
