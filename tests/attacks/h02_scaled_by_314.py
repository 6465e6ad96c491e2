# attack: H02 314 times the answer, which has its direction
# task: relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return 314 * torch.relu(x)
