import subprocess

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Starts a process in the middle of the measurement, like a recompilation."""

    calls = 0

    def forward(self, x):
        ModelNew.calls += 1
        if ModelNew.calls == 25:
            subprocess.run(["true"])
        return torch.relu(x)
