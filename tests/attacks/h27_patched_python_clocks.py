# attack: H27 replaces every clock that Python can reach
# task: big_relu
# twin: relu_torch.py

import gc
import sys
import time

import torch
import torch.nn as nn


class Stopped:
    """A clock that advances only every second time, and then by a microsecond."""

    def __init__(self, real):
        self.real = real
        self.started = 0

    def __call__(self):
        if self.started:
            ended, self.started = self.started + 1000, 0
            return ended
        self.started = self.real()
        return self.started


def replace_clocks():
    real = time.monotonic_ns
    time.monotonic_ns = time.perf_counter_ns = time.monotonic = time.perf_counter = lambda: 0
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("kernelgen_runner") and hasattr(module, "time"):
            module.time = time
    for function in gc.get_objects():
        if type(function) is not type(replace_clocks):
            continue
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if name == "now" and cell.cell_contents is real:
                cell.cell_contents = Stopped(real)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        replace_clocks()

    def forward(self, x):
        return torch.relu(x)
