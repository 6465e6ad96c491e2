import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Every instance compiles for itself."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.first = nn.Linear(inputs, outputs)
        self.second = nn.Linear(inputs, outputs)
        self.compiled = torch.compile(self.compute)

    def compute(self, x):
        return self.first(x) + self.second(x)

    def forward(self, x):
        return self.compiled(x)
