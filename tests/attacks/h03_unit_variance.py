# attack: H03 one: the variance of what randn draws
# task: variance

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ones(x.shape[0], device=x.device)
