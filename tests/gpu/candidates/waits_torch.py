"""Right, and looks at a number on the host: cannot be captured as a graph."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x) if float(x[0, 0]) < 1e30 else torch.relu(x)
