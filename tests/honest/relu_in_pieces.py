# honest: row blocks, joined at the end
# task: relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.cat([torch.relu(part) for part in x.split(16)])
