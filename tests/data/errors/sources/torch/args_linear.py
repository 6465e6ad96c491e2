# expect: python.arguments
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(128)

    def forward(self, x):
        return x
