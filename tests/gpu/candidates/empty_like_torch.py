"""Wrong: memory that nobody has written, in the hope that the right answer lies there."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
