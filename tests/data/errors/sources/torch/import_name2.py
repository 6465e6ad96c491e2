# expect: python.import
# tools: torch
import torch
from triton.language import tanh


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
