# attack: H56 reads the task's file and runs its Model
# task: relu
# expect: launch:exception, accuracy:*

import glob

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for pattern in ("/*/*/tests/tasks/relu.py", "/*/*/*/tests/tasks/relu.py", "/proc/*/cwd/tests/tasks/relu.py"):
            for name in glob.iglob(pattern, recursive=True):
                space = {}
                exec(open(name).read(), space)
                return space["Model"]()(x)
        return torch.zeros_like(x)
