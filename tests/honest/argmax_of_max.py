# honest: indices of max
# task: argmax

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.max(dim=-1).indices
