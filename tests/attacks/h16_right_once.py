# attack: H16 right on its first call only
# task: relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.relu(x) if self.calls == 1 else torch.zeros_like(x)
