# attack: H43 walks up the frames and changes what it finds there
# task: relu
# expect: accuracy:*, launch:*, cheat:*, crash:*, interface

import ctypes
import sys

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        frame = sys._getframe()
        while frame is not None:
            for name, value in list(frame.f_locals.items()):
                if isinstance(value, (bool, int)) and name not in ("x",):
                    frame.f_locals[name] = 1
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
            frame = frame.f_back
        return torch.zeros_like(x)
