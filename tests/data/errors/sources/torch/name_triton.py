# expect: python.missing_import
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def forward(self, x):
        n = triton.cdiv(x.numel(), 64)
        return x
