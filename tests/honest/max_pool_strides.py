# honest: the larger of four shifted views
# task: max_pool

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        rows = torch.maximum(x[:, :, ::2], x[:, :, 1::2])
        return torch.maximum(rows[..., ::2], rows[..., 1::2])
