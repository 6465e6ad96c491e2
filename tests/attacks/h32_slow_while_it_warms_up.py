# attack: H32 sleeps in its first calls, so that a sampler takes few samples
# task: relu
# twin: relu_torch.py

import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls < 20:
            time.sleep(0.02)
        return torch.relu(x)
