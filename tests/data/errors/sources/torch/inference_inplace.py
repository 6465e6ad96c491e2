# expect: torch.autograd
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def forward(self, x):
        w = torch.nn.Parameter(torch.rand(3))
        with torch.enable_grad():
            w.add_(1)
        return w
