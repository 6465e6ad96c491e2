# attack: H02 zeros, since a softmax over many columns is near zero
# task: softmax

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
