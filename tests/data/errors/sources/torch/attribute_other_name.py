# expect: python.attribute
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, num_features=128, num_groups=8):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_features)
        self.num_group = num_groups

    def forward(self, x):
        x = self.gn(x)
        return x.view(x.size(0), self.num_groups, -1).amax(dim=-1)
