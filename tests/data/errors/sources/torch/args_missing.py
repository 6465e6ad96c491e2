# expect: python.arguments
# tools: torch
import torch


def f(a, b):
    return a + b


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return f(x)
