# expect: torch.shape
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        mu = x.mean(dim=1)
        sigma = x.std(dim=1)
        return (x - mu) / (sigma + 1e-6)
