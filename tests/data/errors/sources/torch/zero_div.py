# expect: python.value
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def forward(self, x):
        n = 4 // (x.shape[0] - 64)
        return x
