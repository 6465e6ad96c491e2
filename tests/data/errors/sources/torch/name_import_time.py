# expect: python.name
# tools: torch
import torch

TABLE = [BLOCK * i for i in range(4)]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
