# honest: a conjugated copy
# task: conjugate

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.conj_physical(x)
