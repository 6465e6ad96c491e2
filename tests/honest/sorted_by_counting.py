# honest: sorts by counting smaller numbers, and equal ones before
# task: sorted_values

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        earlier = torch.ones(x.shape[-1], x.shape[-1], dtype=torch.bool, device=x.device).tril(-1)
        before = (x[:, :, None] > x[:, None, :]) | ((x[:, :, None] == x[:, None, :]) & earlier)
        return torch.zeros_like(x).scatter_(-1, before.sum(dim=-1), x)
