# attack: C14 its report has a text where numbers belong
# task: relu
# expect: *

import gc

import torch
import torch.nn as nn


def lie(*arguments, **more):
    return '{"structure": 1.5, "tensors": "text"}'


def replace():
    for function in gc.get_objects():
        if type(function) is type(lie) and "dumps" in function.__code__.co_freevars:
            function.__closure__[function.__code__.co_freevars.index("dumps")].cell_contents = lie


class ModelNew(nn.Module):
    def forward(self, x):
        replace()
        return torch.relu(x)
