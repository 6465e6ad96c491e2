# honest: one call of the library
# task: relu
# installed: yes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
