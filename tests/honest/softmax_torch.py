# honest: one call of the library
# task: softmax

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.softmax(x, dim=-1)
