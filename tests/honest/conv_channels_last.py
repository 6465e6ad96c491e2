# honest: in the channels-last format, made contiguous at the end
# task: conv

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)

    def forward(self, x):
        y = self.conv(x.to(memory_format=torch.channels_last)).relu_()
        return y.contiguous(memory_format=torch.contiguous_format)
