# expect: python.arguments
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()

    def forward(self, x):
        return x
