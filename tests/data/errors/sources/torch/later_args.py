# expect: python.arguments
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(x, 3)
