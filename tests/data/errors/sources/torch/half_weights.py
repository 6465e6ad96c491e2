# expect: torch.dtype
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(128, 64).half()

    def forward(self, x):
        return self.fc(x).float()
