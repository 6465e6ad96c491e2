# honest: halves against each other until one column is left
# task: row_max

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        while x.shape[-1] > 1:
            x = torch.maximum(*x.chunk(2, dim=-1))
        return x.squeeze(-1)
