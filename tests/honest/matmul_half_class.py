# honest: float16 products in the class that allows them
# task: matmul
# precision: fp16

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
