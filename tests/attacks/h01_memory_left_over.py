# attack: H01 memory of torch's allocator in which an answer may lie
# task: big_relu
# twin: relu_torch.py
# device: gpu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        before = torch.relu(x)
        del before
        return torch.empty_like(x)
