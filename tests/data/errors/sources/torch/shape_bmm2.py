# expect: torch.shape
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def forward(self, x):
        a = torch.rand(4, 8, 16)
        return torch.bmm(a, a)
