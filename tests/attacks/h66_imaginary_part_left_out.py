# attack: H66 the imaginary part, which is always zero, is left out
# task: real_signal

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.polar(x.real, 0.5 * x.real)
