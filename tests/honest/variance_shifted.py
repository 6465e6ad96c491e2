# honest: squares of the differences to the mean
# task: variance

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return (x - x.mean(dim=-1, keepdim=True)).square().mean(dim=-1)
