# attack: H05 the last of equal maxima, as if there were no ties
# task: argmax

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.shape[-1] - 1 - torch.argmax(x.flip(-1), dim=-1)
