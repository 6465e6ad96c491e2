# honest: maximum, logarithm of the sum, difference
# task: log_softmax

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        shifted = x - x.max(dim=-1, keepdim=True).values
        return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
