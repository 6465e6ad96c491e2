# honest: parameters under names of its own
# task: layernorm

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return nn.functional.layer_norm(x, (x.shape[-1],), self.gain, self.shift)
