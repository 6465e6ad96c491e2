# honest: the library's layer
# task: gru

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.gru = nn.GRU(inputs, hidden, batch_first=True)

    def forward(self, x, h0):
        output, last = self.gru(x, h0)
        return output[:, -1].clone(), last
