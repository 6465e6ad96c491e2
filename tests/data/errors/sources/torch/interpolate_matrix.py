# expect: torch.shape
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.interpolate(x, scale_factor=2)
