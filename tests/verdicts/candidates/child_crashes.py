import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Tries something in a child process, in the first call on each set of weights, and survives its crash."""

    def __init__(self):
        super().__init__()
        self.tried = False

    def forward(self, x):
        if not self.tried:
            self.tried = True
            child = os.fork()
            if child == 0:
                os.abort()
            os.waitpid(child, 0)
        return torch.relu(x)
