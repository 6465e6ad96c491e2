# attack: H59 C15 the reference's own module under another name
# task: linear
# expect: label:*library*

import torch
import torch.nn as nn


class Helper(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first = nn.Linear(inputs, outputs)
        self.second = nn.Linear(inputs, outputs)

    def forward(self, x):
        return self.first(x) + self.second(x)


class ModelNew(Helper):
    pass
