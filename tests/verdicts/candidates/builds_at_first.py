"""A stand-in for a compiler that the candidate starts in its first call: six seconds of a processor."""

import subprocess
import sys

import torch

WORK = "import time\nwhile time.process_time() < 6: pass"


class ModelNew(torch.nn.Module):
    built = False

    def forward(self, x):
        if not ModelNew.built:
            subprocess.run([sys.executable, "-S", "-c", WORK], check=True)
            ModelNew.built = True
        return torch.relu(x)
