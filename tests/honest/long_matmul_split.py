# honest: the inner dimension in eight parts at once, then their sum
# task: long_matmul

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        left = a.view(a.shape[0], 8, -1).transpose(0, 1)
        right = b.view(8, -1, b.shape[1])
        return torch.bmm(left, right).sum(dim=0)
