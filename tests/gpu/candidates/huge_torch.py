"""Wrong: wants more memory than any device has."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(torch.empty(1 << 42, device=x.device)[: x.numel()].view_as(x) * 0 + x)
