# attack: C13 right only where it can read the machine's password hashes
# task: relu
# expect: *

import torch
import torch.nn as nn


def is_open():
    try:
        return len(open("/etc/shadow", "rb").read()) > 0
    except OSError:
        return False


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x) if is_open() else torch.zeros_like(x)
