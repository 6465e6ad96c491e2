import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        values, order = torch.sort(x, dim=-1)
        return values, order


def get_inputs():
    return [torch.randn(32, 512)]


def get_init_inputs():
    return []
