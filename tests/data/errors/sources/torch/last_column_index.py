# expect: torch.index
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        last = x[:, x.shape[1]]
        return x.cumsum(dim=1) / last.unsqueeze(1)
