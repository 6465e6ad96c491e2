# honest: sums within blocks, then those before each block
# task: cumsum

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        blocks = x.view(x.shape[0], -1, 32).cumsum(dim=-1)
        before = blocks[..., -1].cumsum(dim=-1) - blocks[..., -1]
        return (blocks + before.unsqueeze(-1)).view_as(x)
