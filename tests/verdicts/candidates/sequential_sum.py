import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """One running sum, element after element."""

    def forward(self, x):
        return x.t().contiguous().cumsum(dim=0)[-1]
