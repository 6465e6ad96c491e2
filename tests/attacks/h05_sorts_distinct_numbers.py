# attack: H05 sorts by counting smaller numbers: equal ones get the same place
# task: sorted_values

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        places = (x[:, :, None] > x[:, None, :]).sum(dim=-1)
        return torch.zeros_like(x).scatter_(-1, places, x)
