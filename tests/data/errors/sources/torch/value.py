# expect: python.value
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise ValueError('hidden size must be a multiple of 96')
