# expect: python.value
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        name = f"{x.mean().item():d}"
        return x + len(name)
