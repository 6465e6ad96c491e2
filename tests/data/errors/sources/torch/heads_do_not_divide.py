# expect: torch.arguments
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(128, 3)

    def forward(self, x):
        return self.attention(x, x, x)[0]
