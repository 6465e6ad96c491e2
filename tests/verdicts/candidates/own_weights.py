import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        torch.manual_seed(7)
        self.first = nn.Linear(inputs, outputs)
        self.second = nn.Linear(inputs, outputs)

    def forward(self, x):
        return self.first(x) + self.second(x)
