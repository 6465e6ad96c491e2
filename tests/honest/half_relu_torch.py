# honest: float16 where the task has float16
# task: half_relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clamp(min=0)
