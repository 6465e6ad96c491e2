# expect: torch.module_init
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def __init__(self):
        self.l = nn.Linear(128, 4)

    def forward(self, x):
        return self.l(x)
