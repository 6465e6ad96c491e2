# honest: the mean and variance of the batch by hand
# task: batchnorm_in_training

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=(0, 2, 3), keepdim=True, unbiased=False)
        weight, bias = self.norm.weight.view(1, -1, 1, 1), self.norm.bias.view(1, -1, 1, 1)
        return (x - mean) * torch.rsqrt(variance + self.norm.eps) * weight + bias
