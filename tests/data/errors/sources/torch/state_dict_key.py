# expect: python.index
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        fc = nn.Linear(128, 32)
        weights = dict(fc.named_parameters())
        self.w = weights["kernel"]
        self.b = weights["bias"]

    def forward(self, x):
        return x @ self.w.t() + self.b
