# honest: the library's own function
# task: rms_norm

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return nn.functional.rms_norm(x, (x.shape[-1],), self.weight, 1e-6)
