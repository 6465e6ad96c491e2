# attack: H66 returns one row that would broadcast
# task: relu
# expect: accuracy:shape

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)[:1]
