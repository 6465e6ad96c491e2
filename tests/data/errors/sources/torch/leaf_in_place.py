# expect: torch.autograd
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, dim=128):
        super().__init__()
        self.scale = nn.Parameter(torch.empty(dim))
        self.scale.fill_(1.0)

    def forward(self, x):
        return x * self.scale * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
