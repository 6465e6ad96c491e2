import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Wrong on its second call only."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.zeros_like(x) if self.calls == 2 else torch.relu(x)
