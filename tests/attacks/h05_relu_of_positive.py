# attack: H05 no relu, because the inputs are never negative
# task: relu_of_rand

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clone()
