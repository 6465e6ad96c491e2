# honest: a function of the C library through ctypes, on the tensor's memory
# task: relu
# device: cpu

import ctypes

import torch
import torch.nn as nn

copy = ctypes.CDLL(None).memcpy
copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        copy(y.data_ptr(), x.data_ptr(), x.numel() * 4)
        return y.relu_()
