# attack: C10 no maximum is subtracted, so large inputs overflow
# task: softmax

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        powers = torch.exp(x)
        return powers / powers.sum(dim=-1, keepdim=True)
