# honest: arithmetic in place of the function: half of the sum with the absolute value
# task: relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return 0.5 * (x + x.abs())
