# honest: a product with ones
# task: long_sum

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x @ torch.ones(x.shape[-1], device=x.device)
