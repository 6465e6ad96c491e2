# honest: mean, variance, scale and shift
# task: layernorm

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=-1, keepdim=True, unbiased=False)
        return torch.addcmul(self.norm.bias, (x - mean) * torch.rsqrt(variance + self.norm.eps), self.norm.weight)
