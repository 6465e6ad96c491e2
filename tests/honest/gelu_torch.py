# honest: one call of the library
# task: gelu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x)
