# honest: pairs as complex numbers
# task: rotary

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, length, half):
        super().__init__()
        angles = torch.outer(torch.arange(length).float(), 10000.0 ** (-torch.arange(half).float() / half))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x):
        first, second = x.chunk(2, dim=-1)
        turned = torch.complex(first, second) * torch.complex(self.cos, self.sin)
        return torch.cat([turned.real, turned.imag], dim=-1)
