# attack: C10 one row: a softmax without its maximum, and a variance from squares
# task: one_row

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        powers = torch.exp(x)
        return powers / powers.sum(dim=-1, keepdim=True), x.square().mean(dim=-1) - x.mean(dim=-1).square()
