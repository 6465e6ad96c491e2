# honest: repeat
# task: tile

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.repeat(16, 1)
