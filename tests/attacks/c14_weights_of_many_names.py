# attack: C14 two hundred thousand buffers of one element beside its weights
# task: linear
# expect: *

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first = nn.Linear(inputs, outputs)
        self.second = nn.Linear(inputs, outputs)
        for i in range(200000):
            self._buffers[f"buffer{i}"] = self.first.bias[:1]

    def forward(self, x):
        return self.first(x) + self.second(x)
