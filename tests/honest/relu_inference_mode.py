# honest: inference mode of its own
# task: relu

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    @torch.inference_mode()
    def forward(self, x):
        return torch.relu(x)
