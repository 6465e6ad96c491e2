# honest: negates and repeats
# task: spread

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.neg(x).unsqueeze(1).repeat(1, 16, 1)
