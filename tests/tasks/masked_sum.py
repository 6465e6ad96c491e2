import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, mask):
        return (x * mask).sum(dim=-1)


def get_inputs():
    return [torch.randn(64, 512), (torch.rand(64, 512) > 0.5).float()]


def get_init_inputs():
    return []
