# attack: C04 an interval timer's handler computes after forward has returned
# task: big_gelu
# twin: gelu_torch.py
# expect: launch:exception

import signal

import torch
import torch.nn as nn

state = {"input": None, "output": None}


def work(number, frame):
    if state["output"] is not None:
        state["output"].copy_(nn.functional.gelu(state["input"]))
        state["output"] = None


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.buffer = None
        signal.signal(signal.SIGALRM, work)

    def forward(self, x):
        if self.buffer is None:
            self.buffer = torch.empty_like(x)
        state["input"], state["output"] = x, self.buffer
        signal.setitimer(signal.ITIMER_REAL, 30e-6)
        return self.buffer
