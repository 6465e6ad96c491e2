# expect: python.missing_import
# tools: torch
import torch


@triton.jit
def k(p):
    pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
