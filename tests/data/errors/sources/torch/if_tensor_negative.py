# expect: torch.ambiguous_bool
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, negative_slope=0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x):
        if x >= 0:
            return x
        return x * self.negative_slope
