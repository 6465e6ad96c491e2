import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """Has neither weight nor bias."""

    def __init__(self, features):
        super().__init__()

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:])
