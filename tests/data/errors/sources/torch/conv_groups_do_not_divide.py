# expect: torch.arguments
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, groups=2)

    def forward(self, x):
        return self.conv(x)
