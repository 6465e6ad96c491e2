# expect: python.import
# tools: torch
import torch
from torch.nn import Module, Linear, LayerNorm2d


class ModelNew(Module):
    def __init__(self):
        super().__init__()
        self.norm = LayerNorm2d(64)

    def forward(self, x):
        return self.norm(x.view(1, 64, 8, 16))
