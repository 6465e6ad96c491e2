# honest: both normalized first
# task: cosine

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (nn.functional.normalize(a, dim=-1) * nn.functional.normalize(b, dim=-1)).sum(dim=-1)
