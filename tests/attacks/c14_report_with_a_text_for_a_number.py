# attack: C14 its report says that a dimension is a text
# task: relu
# expect: *

import gc
import json

import torch
import torch.nn as nn


def lie(*arguments, **more):
    told = json.dumps(*arguments)
    return told.replace("[64, 1024]", '["64", 1e400, null]')


def replace():
    for function in gc.get_objects():
        if type(function) is type(lie) and "dumps" in function.__code__.co_freevars:
            function.__closure__[function.__code__.co_freevars.index("dumps")].cell_contents = lie


class ModelNew(nn.Module):
    def forward(self, x):
        replace()
        return torch.relu(x)
