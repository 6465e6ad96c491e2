import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.conj_physical(x)


def get_inputs():
    return [torch.randn(1024, 1024, dtype=torch.complex64)]


def get_init_inputs():
    return []
