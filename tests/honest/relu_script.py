# honest: compiled by torch.jit.script
# task: relu
# timeout: 60

import torch
import torch.nn as nn


@torch.jit.script
def relu(x: torch.Tensor) -> torch.Tensor:
    return torch.clamp(x, min=0.0)


class ModelNew(nn.Module):
    def forward(self, x):
        return relu(x)
