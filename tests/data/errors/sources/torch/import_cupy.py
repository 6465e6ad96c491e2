# expect: python.import
# tools: torch
import torch
import cupy as cp


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
