# expect: python.syntax
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features=128, out_features=64):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = nn.Parameter(torch.ones(out_features)

    def forward(self, x):
        return torch.relu(self.linear(x)) * self.scale
