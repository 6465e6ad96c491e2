# attack: H52 changes Model and get_inputs in every module that it finds
# task: relu
# expect: accuracy:*

import sys

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)


def get_inputs():
    return [torch.zeros(64, 1024)]


class ModelNew(nn.Module):
    def forward(self, x):
        for module in list(sys.modules.values()):
            if hasattr(module, "Model"):
                module.Model = Model
            if hasattr(module, "get_inputs"):
                module.get_inputs = get_inputs
        return torch.zeros_like(x)
