"""A linear layer followed by GELU: a matrix product with a fused bias and activation."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 256
in_features = 1024
out_features = 1024


class Model(nn.Module):
    """gelu(x @ weight.T + bias), with the exact (erf) form of GELU."""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(self.linear(x))


def get_inputs():
    return [torch.randn(batch, in_features)]


def get_init_inputs():
    return [in_features, out_features]
