# expect: torch.dtype
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.one_hot(x, 5)
