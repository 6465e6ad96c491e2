# attack: H63 numbers in 2^22 steps of the largest one: nothing is left beside an outlier
# task: relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        step = x.abs().amax() / 2**22
        return torch.relu(torch.round(x / step) * step)
