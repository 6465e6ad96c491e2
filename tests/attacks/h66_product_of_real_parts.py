# attack: H66 a complex product without the product of imaginary parts
# task: complex_product

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, y):
        return torch.complex(x.real * y.real, x.real * y.imag + x.imag * y.real)
