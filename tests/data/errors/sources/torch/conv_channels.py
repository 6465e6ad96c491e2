# expect: torch.shape
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(16, 32, kernel_size=3, stride=1, padding=1, bias=False)
        self.bias = nn.Parameter(torch.zeros(32, 1, 1))

    def forward(self, x):
        x = x.view(-1, 4, 16, 16)
        return F.relu(self.conv(x) + self.bias)
