# attack: H66 the second of two outputs is garbage
# task: two_outputs
# expect: accuracy:mismatch

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x), torch.zeros(x.shape[0], device=x.device)
