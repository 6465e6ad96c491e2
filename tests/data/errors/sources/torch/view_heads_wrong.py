# expect: torch.shape
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, n_embd=128, n_head=6):
        super().__init__()
        self.n_head = n_head
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)

    def forward(self, x):
        T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=1)
        q = q.view(T, self.n_head, C // self.n_head).transpose(0, 1)
        return q
