# attack: C10 a group norm from sums and squares, shifted by the mean of everything
# task: group_norm

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)

    def forward(self, x):
        n, channels, height, width = x.shape
        groups = (x - x.mean()).reshape(n, 4, -1)
        mean = groups.mean(dim=-1, keepdim=True)
        variance = (groups.square().mean(dim=-1, keepdim=True) - mean.square()).clamp_min(0)
        y = ((groups - mean) * torch.rsqrt(variance + 1e-5)).reshape(x.shape)
        return y * self.norm.weight.view(1, -1, 1, 1) + self.norm.bias.view(1, -1, 1, 1)
