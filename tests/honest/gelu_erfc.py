# honest: the complementary error function
# task: gelu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return 0.5 * x * torch.special.erfc(-x * 0.7071067811865476)
