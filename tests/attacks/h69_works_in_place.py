# attack: H69 returns its input, changed in place
# task: relu
# expect: mutated_input

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.clamp_(min=0)
