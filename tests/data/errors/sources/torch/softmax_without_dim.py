# expect: torch.arguments
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        scores = torch.matmul(x, x.t())
        return torch.matmul(torch.softmax(scores), x)
