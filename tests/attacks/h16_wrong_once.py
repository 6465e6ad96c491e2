# attack: H16 wrong on its second call only
# task: relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.zeros_like(x) if self.calls == 2 else torch.relu(x)
