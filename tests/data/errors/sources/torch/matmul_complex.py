# expect: torch.dtype
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x @ torch.ones(128, 8, dtype=torch.complex64)
