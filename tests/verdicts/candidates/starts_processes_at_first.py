import subprocess
import sys

import torch
import torch.nn as nn

subprocess.run([sys.executable, "-c", "pass"], check=True)


class ModelNew(nn.Module):
    """Honest: the processes that it starts end before its call does, even if one child is not reaped."""

    calls = 0

    def forward(self, x):
        ModelNew.calls += 1
        if ModelNew.calls == 1:
            ModelNew.child = subprocess.Popen([sys.executable, "-c", "print()"], stdout=subprocess.PIPE)
            ModelNew.child.stdout.read()
            while open(f"/proc/{ModelNew.child.pid}/stat").read().rpartition(") ")[2][0] != "Z":
                pass
        return torch.relu(x)
