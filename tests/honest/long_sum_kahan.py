# honest: compensated in blocks
# task: long_sum

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        total = torch.zeros(x.shape[0], device=x.device)
        lost = torch.zeros_like(total)
        for part in x.split(1024, dim=-1):
            value = part.sum(dim=-1) - lost
            larger = total + value
            lost = (larger - total) - value
            total = larger
        return total
