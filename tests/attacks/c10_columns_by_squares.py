# attack: C10 the variance of columns as a difference of two means of squares, shifted by the first element of all
# task: variance_of_columns

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        x = x - x[0, 0]
        return x.square().mean(dim=0) - x.mean(dim=0).square()
