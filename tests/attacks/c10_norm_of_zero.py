# attack: C10 rows divided by their norm without an epsilon: a row of zeros gives NaN
# task: normalize

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt((x * x).sum(dim=-1, keepdim=True))
