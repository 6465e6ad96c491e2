# attack: H19 a lazily negated, expanded view: reading it does the work
# task: spread
# twin: spread_repeat.py
# expect: accuracy:*, off_distribution:*

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch._neg_view(x).unsqueeze(1).expand(256, 16, 1024)
