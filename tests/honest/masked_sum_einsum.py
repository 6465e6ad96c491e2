# honest: products and sums in one
# task: masked_sum

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return torch.einsum("ij,ij->i", x, mask)
