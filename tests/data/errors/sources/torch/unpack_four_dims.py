# expect: python.value
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, num_features: int = 64, eps: float = 1e-5):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features, eps=eps)

    def forward(self, x):
        n, c, h, w = x.shape
        x = x.reshape(n, c, h * w)
        return (x - x.mean((0, 2), keepdim=True)) / (x.var((0, 2), keepdim=True) + self.bn.eps).sqrt()
