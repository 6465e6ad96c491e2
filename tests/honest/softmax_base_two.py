# honest: powers of two, with the factor folded into the scale
# task: softmax

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        scaled = (x - x.amax(dim=-1, keepdim=True)) * 1.4426950408889634
        powers = torch.exp2(scaled)
        return powers / powers.sum(dim=-1, keepdim=True)
