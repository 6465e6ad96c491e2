# honest: five shifted products instead of a convolution
# task: depthwise

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, 5, padding=2, groups=channels)

    def forward(self, x):
        padded = nn.functional.pad(x, (2, 2))
        weight = self.conv.weight[:, 0]
        total = self.conv.bias.view(1, -1, 1) + padded[..., : x.shape[-1]] * weight[:, 0:1]
        for tap in range(1, 5):
            total = total + padded[..., tap : tap + x.shape[-1]] * weight[:, tap : tap + 1]
        return total
