# expect: python.value
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return sum(x[:, k] for k in range(0, 128, 0))
