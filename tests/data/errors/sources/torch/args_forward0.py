# expect: python.arguments
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def forward(self):
        return 0
