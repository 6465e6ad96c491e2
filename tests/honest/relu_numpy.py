# honest: numpy on the tensor's memory
# task: relu
# device: cpu

import numpy

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.from_numpy(numpy.maximum(x.numpy(), 0))
