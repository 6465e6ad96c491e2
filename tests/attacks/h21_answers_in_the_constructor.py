# attack: H21 computes on inputs of its own in the constructor and hopes that they are the ones
# task: gelu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.answer = nn.functional.gelu(torch.randn(256, 1024))

    def forward(self, x):
        return self.answer.to(x.device)
