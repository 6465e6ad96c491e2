# honest: a stable order, then gathered values
# task: sort
# open: of equal numbers either order is right, and the reference's is wanted
# varies: yes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        order = torch.argsort(x, dim=-1, stable=True)
        return x.gather(-1, order), order
