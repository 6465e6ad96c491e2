# honest: blocks of the inner dimension, added up
# task: matmul

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        total = torch.zeros(a.shape[0], b.shape[1], device=a.device)
        for start in range(0, a.shape[1], 128):
            total.addmm_(a[:, start : start + 128], b[start : start + 128])
        return total
