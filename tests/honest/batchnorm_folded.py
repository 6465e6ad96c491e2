# honest: folds statistics and parameters into one scale and one shift, once for each set of weights
# task: batchnorm

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels).eval()
        self.folded = None

    def forward(self, x):
        if self.folded is None:
            scale = self.norm.weight * torch.rsqrt(self.norm.running_var + self.norm.eps)
            self.folded = [t.view(1, -1, 1, 1) for t in (scale, self.norm.bias - self.norm.running_mean * scale)]
        return torch.addcmul(self.folded[1], x, self.folded[0]).relu_()
