# expect: interface
# tools: torch
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.Hardtanh()

    def forward(self, x):
        return self.act(x)
