# attack: H19 a conjugated view: reading it does the work
# task: conjugate
# twin: conjugate_physical.py

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.conj()
