# honest: a complex product by its parts
# task: complex_product

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        return torch.complex(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)
