import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Tries something in a process of its own, in the first call on each set of weights, and copes with its death."""

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
