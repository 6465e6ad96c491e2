# honest: maximum first
# task: logsumexp

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        maximum = x.amax(dim=-1, keepdim=True)
        return (x - maximum).exp().sum(dim=-1).log() + maximum.squeeze(-1)
