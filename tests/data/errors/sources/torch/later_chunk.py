# expect: python.value
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def forward(self, x):
        a, b, c = x.chunk(2, dim=1)
        return a
