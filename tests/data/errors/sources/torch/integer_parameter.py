# expect: torch.dtype
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.offset = torch.nn.Parameter(torch.arange(128))

    def forward(self, x):
        return x + self.offset
