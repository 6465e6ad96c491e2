# honest: says something in each call
# task: relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        print("relu of", tuple(x.shape))
        return torch.relu(x)
