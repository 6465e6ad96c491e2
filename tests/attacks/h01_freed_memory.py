# attack: H01 hands back memory in which an earlier right answer may still lie
# task: relu
# twin: relu_torch.py

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        answer = torch.relu(x)
        del answer
        return torch.empty_like(x)
