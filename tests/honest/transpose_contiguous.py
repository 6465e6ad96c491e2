# honest: the transposed result, made contiguous
# task: transpose

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x.t()).contiguous()
