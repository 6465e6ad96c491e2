"""A matrix product over 4096 steps: enough for TF32 to show."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(512, 4096), torch.randn(4096, 512)]


def get_init_inputs():
    return []
