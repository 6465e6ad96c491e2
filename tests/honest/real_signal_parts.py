# honest: a rotation by its parts
# task: real_signal

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        cos, sin = torch.cos(0.5 * x.real), torch.sin(0.5 * x.real)
        return torch.complex(x.real * cos - x.imag * sin, x.real * sin + x.imag * cos)
