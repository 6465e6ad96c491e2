# attack: H66 one output instead of two
# task: two_outputs
# expect: accuracy:structure

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
