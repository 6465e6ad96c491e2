import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Sums the weights once: it holds none of the reference's tensors."""

    def __init__(self, inputs, outputs):
        super().__init__()
        linear = nn.Linear(inputs, outputs)
        self.register_buffer("weight", linear.weight.detach().sum(dim=0))
        self.register_buffer("bias", linear.bias.detach().sum())

    def forward(self, x):
        return (x @ self.weight + self.bias).unsqueeze(1)
