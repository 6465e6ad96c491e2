"""ReLU of numbers that are never negative: on its own inputs an echo is right."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(2048, 1024)]


def get_init_inputs():
    return []
