# expect: torch.shape
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.gather(x, 1, torch.argsort(x[0]))
