"""A stand-in for a compiler that the candidate starts while it is imported: six seconds of a processor."""

import subprocess
import sys

import torch

WORK = "import time\nwhile time.process_time() < 6: pass"
subprocess.run([sys.executable, "-S", "-c", WORK], check=True)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
