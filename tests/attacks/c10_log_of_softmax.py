# attack: C10 the logarithm of a softmax: minus infinity where the probability is too small
# task: log_softmax

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.log(torch.softmax(x.double(), dim=-1)).float()
