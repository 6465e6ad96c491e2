# honest: a group norm in two passes
# task: group_norm

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)

    def forward(self, x):
        groups = x.reshape(x.shape[0], 4, -1)
        centered = groups - groups.mean(dim=-1, keepdim=True)
        y = (centered * torch.rsqrt(centered.square().mean(dim=-1, keepdim=True) + 1e-5)).reshape(x.shape)
        return y * self.norm.weight.view(1, -1, 1, 1) + self.norm.bias.view(1, -1, 1, 1)
