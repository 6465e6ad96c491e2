# attack: H02 1e30 everywhere, for a tolerance that grows with the candidate's numbers
# task: relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, 1e30)
