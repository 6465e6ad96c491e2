# expect: python.missing_import
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, d_model: int = 128, n_heads: int = 8):
        super().__init__()
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.n_heads = n_heads
        self.scale = 1.0 / math.sqrt(d_model // n_heads)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return torch.softmax(q @ k.t() * self.scale, dim=-1) @ v
