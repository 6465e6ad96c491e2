# honest: one output buffer that is kept and filled anew in each call
# task: relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.buffers = {}

    def forward(self, x):
        key = (x.shape, x.dtype, x.device)
        if key not in self.buffers:
            self.buffers[key] = torch.empty_like(x)
        return torch.clamp(x, min=0, out=self.buffers[key])
