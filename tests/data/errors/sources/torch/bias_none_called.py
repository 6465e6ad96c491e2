# expect: python.type
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, activation=None):
        super().__init__()
        self.fc = nn.Linear(128, 128)
        self.activation = activation

    def forward(self, x):
        return self.activation(self.fc(x))
