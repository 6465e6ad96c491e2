# attack: C10 a cosine without an epsilon
# task: cosine

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a * b).sum(dim=-1) / (a.norm(dim=-1) * b.norm(dim=-1))
