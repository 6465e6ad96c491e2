# attack: C14 the place of a weight in its report is a text
# task: linear
# expect: *

import json

import torch
import torch.nn as nn

real = json.dumps


def lie(*arguments, **more):
    told = real(*arguments, **more)
    return told.replace('"offset": ', '"offset": "here", "there": ')


json.dumps = lie


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first = nn.Linear(inputs, outputs)
        self.second = nn.Linear(inputs, outputs)

    def forward(self, x):
        return self.first(x) + self.second(x)
