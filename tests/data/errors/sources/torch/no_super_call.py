# expect: torch.module_init
# tools: torch
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_dim=128, out_dim=16):
        self.proj = nn.Linear(in_dim, out_dim)

    def forward(self, x):
        return self.proj(x).sigmoid()
