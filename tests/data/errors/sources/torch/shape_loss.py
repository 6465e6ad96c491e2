# expect: torch.shape
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return F.cross_entropy(x, torch.zeros(3, dtype=torch.long))
