# attack: C10 a cosine from float sums of squares, and an epsilon that small vectors never reach
# task: cosine

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        dot = (a * b).sum(dim=-1)
        return dot * torch.rsqrt((a * a).sum(dim=-1) * (b * b).sum(dim=-1) + 1e-6)
