# attack: H33 heats the processor in its constructor, before the reference is timed beside it
# task: big_relu
# twin: relu_torch.py

import threading
import time

import torch
import torch.nn as nn


def burn(until):
    while time.monotonic() < until:
        sum(range(1000))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        threads = [threading.Thread(target=burn, args=(time.monotonic() + 1,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def forward(self, x):
        return torch.relu(x)
