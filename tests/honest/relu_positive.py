# honest: the right function where the inputs happen to be positive
# task: relu_of_rand

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.where(x > 0, x, torch.zeros_like(x))
