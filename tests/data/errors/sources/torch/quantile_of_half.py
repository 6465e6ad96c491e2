# expect: torch.dtype
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.quantile(x.half(), 0.5, dim=1)
