"""Correct: two linear layers with transposed copies of the weights; the random numbers are drawn in the same order."""

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        first = nn.Linear(width, width)
        second = nn.Linear(width, width)
        self.w1 = nn.Parameter(first.weight.detach().t().contiguous())
        self.b1 = nn.Parameter(first.bias.detach())
        self.w2 = nn.Parameter(second.weight.detach().t().contiguous())
        self.b2 = nn.Parameter(second.bias.detach())

    def forward(self, x):
        return torch.addmm(self.b2, torch.relu(torch.addmm(self.b1, x, self.w1)), self.w2)
