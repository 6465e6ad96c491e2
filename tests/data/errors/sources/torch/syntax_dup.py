# expect: python.syntax
# tools: torch
import torch


def f(a, a):
    return a


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
