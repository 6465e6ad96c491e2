# honest: rows divided by their norm, and by an epsilon where that is zero
# task: normalize

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x / (x * x).sum(dim=-1, keepdim=True).sqrt().clamp_min(1e-12)
