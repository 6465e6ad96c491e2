# attack: H43 replaces what the runner's own functions have bound, so that another tensor is described
# task: relu
# expect: interface, accuracy:*, crash:*

import gc

import torch
import torch.nn as nn


def lie(tensors):
    return [8 for _ in tensors]


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        for function in gc.get_objects():
            if type(function) is type(lie) and "addresses" in function.__code__.co_freevars:
                function.__closure__[function.__code__.co_freevars.index("addresses")].cell_contents = lie

    def forward(self, x):
        return torch.relu(x)
