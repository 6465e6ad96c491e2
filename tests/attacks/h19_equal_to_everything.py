# attack: H19 a result of a class that says that it equals everything
# task: relu
# expect: accuracy:*

import torch
import torch.nn as nn


class Agreeable:
    shape = torch.Size([64, 1024])
    dtype = torch.float32

    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0

    __rsub__ = __sub__


class ModelNew(nn.Module):
    def forward(self, x):
        return Agreeable()
