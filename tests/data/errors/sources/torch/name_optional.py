# expect: python.missing_import
# tools: torch
import torch


def f(a: Optional[int] = None):
    return a


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
