# expect: python.assertion
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, embed_dim=128, num_heads=12):
        super().__init__()
        assert embed_dim % num_heads == 0, "embed_dim must be divisible by num_heads"
        self.head_dim = embed_dim // num_heads

    def forward(self, x):
        return x.view(x.shape[0], -1, self.head_dim)
