# attack: H69 returns its input itself
# task: relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x
