# honest: the comparison as a function
# task: positive

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.gt(x, 0)
