# expect: python.assertion
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def forward(self, x):
        assert x.is_cuda, 'input must be on the GPU'
        return x
