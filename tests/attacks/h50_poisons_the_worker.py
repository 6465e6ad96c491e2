# attack: H50 changes torch for whatever comes after it in the same process
# task: relu
# expect: accuracy:*

import torch
import torch.nn as nn

torch.relu = torch.nn.functional.relu = lambda x: torch.zeros_like(x)
torch.Tensor.relu = lambda x: torch.zeros_like(x)
nn.Module.__call__ = lambda self, *args: torch.zeros_like(args[0])


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
