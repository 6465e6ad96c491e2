"""A compiler that never ends, in place of one that the candidate starts while it is imported."""

import subprocess
import sys

import torch

subprocess.run([sys.executable, "-S", "-c", "while True: pass"], check=True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
