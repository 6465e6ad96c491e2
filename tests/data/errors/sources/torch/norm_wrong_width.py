# expect: torch.shape
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(128)

    def forward(self, x):
        return self.norm(x)
