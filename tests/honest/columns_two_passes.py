# honest: the variance of columns in two passes
# task: variance_of_columns

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return (x - x.mean(dim=0)).square().mean(dim=0)
