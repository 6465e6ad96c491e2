import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Compensated summation over slices."""

    def forward(self, x):
        total = torch.zeros(x.shape[0])
        lost = torch.zeros(x.shape[0])
        for part in x.split(1024, dim=-1):
            term = part.sum(dim=-1) - lost
            longer = total + term
            lost = (longer - total) - term
            total = longer
        return total
