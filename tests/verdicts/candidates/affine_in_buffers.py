import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """Keeps the weights under other names, and not as parameters."""

    def __init__(self, features):
        super().__init__()
        self.register_buffer("shift", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.scale, self.shift)
