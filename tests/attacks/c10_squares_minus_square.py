# attack: C10 the mean of squares minus the square of the mean: nothing is left where the offset is large
# task: variance

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.pow(2).mean(dim=-1) - x.mean(dim=-1).pow(2)
