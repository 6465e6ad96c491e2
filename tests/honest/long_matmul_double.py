# honest: in float64 and back: more accurate than the reference
# task: long_matmul

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a.double() @ b.double()).float()
