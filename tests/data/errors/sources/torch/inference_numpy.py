# expect: torch.autograd
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(3))
        self.w.numpy()

    def forward(self, x):
        w = self.w.numpy()
        return x
