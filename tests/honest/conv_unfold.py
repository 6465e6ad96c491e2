# honest: columns of the image, one product, relu in place
# task: conv

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)

    def forward(self, x):
        columns = nn.functional.unfold(x, 3, padding=1)
        weight = self.conv.weight.view(self.conv.out_channels, -1)
        return (weight @ columns + self.conv.bias.view(-1, 1)).relu_().view(x.shape[0], -1, *x.shape[2:])
