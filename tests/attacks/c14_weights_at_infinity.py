# attack: C14 the sizes of its weights are infinite, negative and no numbers
# task: linear
# expect: *

import json

import torch
import torch.nn as nn

real = json.dumps


def lie(*arguments, **more):
    told = real(*arguments, **more)
    return told.replace('"nbytes": ', '"nbytes": Infinity, "shape": [-1, NaN], "size": ')


json.dumps = lie


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first = nn.Linear(inputs, outputs)
        self.second = nn.Linear(inputs, outputs)

    def forward(self, x):
        return self.first(x) + self.second(x)
