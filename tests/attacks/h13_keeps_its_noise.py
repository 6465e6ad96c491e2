# attack: H13 draws random numbers in its first call and keeps them
# task: noisy

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.noise = None

    def forward(self, x):
        if self.noise is None:
            self.noise = torch.randn(x.shape, device=x.device)
        return torch.tanh(x + self.noise)
