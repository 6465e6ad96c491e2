# honest: both outputs in one tuple
# task: two_outputs

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        outputs = torch.relu(x), torch.einsum("ij->i", x)
        return outputs
