# honest: scores, mask, softmax, values
# task: attention

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.masks = {}

    def forward(self, q, k, v):
        length = q.shape[-2]
        if (length, q.device) not in self.masks:
            mask = torch.full((length, length), float("-inf"), device=q.device).triu_(1)
            self.masks[length, q.device] = mask
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2) + self.masks[length, q.device]
        return torch.softmax(scores, dim=-1) @ v
