import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(16, 16384), torch.randn(16384, 16)]


def get_init_inputs():
    return []
