# attack: C14 replaces the function that forbids processes, and starts one late
# task: relu
# expect: cheat:*, crash:*, accuracy:*

import subprocess
import sys

import torch
import torch.nn as nn

sys.modules["kernelgen_runner.support"].Support.seal_processes = lambda self: None


class ModelNew(nn.Module):
    calls = 0

    def forward(self, x):
        ModelNew.calls += 1
        if ModelNew.calls >= 8:
            subprocess.run(["true"], check=True)
        return torch.relu(x)
