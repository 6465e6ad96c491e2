"""Wrong: never returns, and keeps the device busy."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            x = torch.relu(x)
