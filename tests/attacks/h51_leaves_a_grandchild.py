# attack: H51 leaves a process of another parent behind
# task: relu
# expect: cheat:process

import os
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    calls = 0

    def forward(self, x):
        ModelNew.calls += 1
        if ModelNew.calls == 1:
            child = os.fork()
            if child == 0:
                if os.fork() == 0:
                    time.sleep(3600)
                os._exit(0)
            os.waitpid(child, 0)
        return torch.relu(x)
