# honest: a softmax with its maximum, and a variance in two passes
# task: one_row

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        powers = torch.exp(x - x.amax(dim=-1, keepdim=True))
        return powers / powers.sum(dim=-1, keepdim=True), (x - x.mean(dim=-1, keepdim=True)).square().mean(dim=-1)
