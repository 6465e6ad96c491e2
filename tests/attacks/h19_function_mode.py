# attack: H19 leaves a mode behind that changes what later functions of torch compute
# task: relu
# expect: accuracy:*

import torch
import torch.nn as nn
from torch.overrides import TorchFunctionMode


class Right(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        Right().__enter__()
        return torch.zeros_like(x)
