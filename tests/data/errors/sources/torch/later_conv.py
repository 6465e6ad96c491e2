# expect: torch.shape
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(16, 4, 3)

    def forward(self, x):
        return self.c(x.view(1, 8, 8, 128))
