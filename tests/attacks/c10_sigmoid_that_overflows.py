# attack: C10 exp(x) / (1 + exp(x)): NaN above 89
# task: transpose

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        power = torch.exp(x)
        return (power / (1 + power)).t()
