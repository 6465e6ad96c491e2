# honest: torch.compile
# task: gelu
# device: gpu
# timeout: 120

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.compute = torch.compile(lambda x: 0.5 * x * (1 + torch.erf(x * 0.7071067811865476)))

    def forward(self, x):
        return self.compute(x)
