# attack: C14 returns a million tensors
# task: relu
# expect: *

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return [torch.relu(x)] * 1000000
