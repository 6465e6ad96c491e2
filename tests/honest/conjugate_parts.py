# honest: real and imaginary parts on their own
# task: conjugate

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.complex(x.real.clone(), -x.imag)
