"""Dishonest: replaces every clock that Python can reach."""

import time

import torch
import torch.nn as nn


def forge():
    torch.cuda.Event.elapsed_time = lambda self, other: 1e-3
    torch.cuda.synchronize = lambda *args, **kwargs: None
    for name in ("time", "perf_counter", "monotonic"):
        setattr(time, name, lambda: 0.0)
        setattr(time, name + "_ns", lambda: 0)


class ModelNew(nn.Module):
    def forward(self, x):
        forge()
        return torch.relu(x)
