# honest: a transposed view, as the reference returns
# task: transpose

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return (1 / (1 + torch.exp(-x))).t()
