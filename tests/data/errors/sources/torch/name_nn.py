# expect: python.missing_import
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x):
        return x
