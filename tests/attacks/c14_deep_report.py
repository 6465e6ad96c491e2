# attack: C14 its report is a list in a list in a list, ten thousand deep
# task: relu
# expect: *

import gc

import torch
import torch.nn as nn


def lie(*arguments, **more):
    return "[" * 1000 + "]" * 1000


def replace():
    for function in gc.get_objects():
        if type(function) is type(lie) and "dumps" in function.__code__.co_freevars:
            function.__closure__[function.__code__.co_freevars.index("dumps")].cell_contents = lie


class ModelNew(nn.Module):
    def forward(self, x):
        replace()
        return torch.relu(x)
