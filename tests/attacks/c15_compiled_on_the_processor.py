# attack: C15 H61 torch.compile of the reference as the candidate
# task: gelu
# device: cpu
# timeout: 120
# expect: label:*library*

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.compute = torch.compile(nn.functional.gelu)

    def forward(self, x):
        return self.compute(x)
