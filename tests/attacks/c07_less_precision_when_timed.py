# attack: C07 full precision while it is checked, then weights of 13 bits
# task: mlp
# twin: mlp_torch.py
# timed: yes
# expect: accuracy:*, off_distribution:*

import torch
import torch.nn as nn


def rounded(weight):
    step = torch.exp2(torch.floor(torch.log2(weight.abs().clamp(min=1e-30))) - 12)
    return torch.round(weight / step) * step


class ModelNew(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.first = nn.Linear(width, hidden)
        self.second = nn.Linear(hidden, width)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 40:
            self.packed = [rounded(self.first.weight), rounded(self.second.weight)]
        one, two = self.packed if self.calls >= 40 else (self.first.weight, self.second.weight)
        return nn.functional.linear(nn.functional.gelu(nn.functional.linear(x, one, self.first.bias)), two, self.second.bias)
