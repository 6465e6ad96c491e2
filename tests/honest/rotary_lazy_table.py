# honest: a table that is built in the first call
# task: rotary

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, length, half):
        super().__init__()
        angles = torch.outer(torch.arange(length).float(), 10000.0 ** (-torch.arange(half).float() / half))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.table = None

    def forward(self, x):
        if self.table is None:
            self.table = torch.cat([self.cos, self.cos], dim=-1), torch.cat([-self.sin, self.sin], dim=-1)
        return x * self.table[0] + x.roll(x.shape[-1] // 2, dims=-1) * self.table[1]
