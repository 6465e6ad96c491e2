# attack: H35 threads of its own work on while the reference is timed
# task: big_relu
# twin: relu_torch.py
# expect: out_of_memory, crash:*, launch:exception

import ctypes
import threading

import torch
import torch.nn as nn


def disturb():
    block = torch.randn(1024, 1024)
    while True:
        block = torch.tanh(block)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        for _ in range(4):
            threading.Thread(target=disturb, daemon=True).start()

    def forward(self, x):
        return torch.relu(x)
