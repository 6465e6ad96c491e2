# attack: H66 returns indices as 32-bit integers
# task: argmax
# expect: accuracy:dtype

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=-1).int()
