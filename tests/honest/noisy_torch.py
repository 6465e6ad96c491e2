# honest: draws as the reference does, in place
# task: noisy

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.randn(x.shape, device=x.device).add_(x).tanh_()
