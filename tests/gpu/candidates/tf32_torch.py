"""Wrong in the strict class: ten bits of the inputs."""

import torch
import torch.nn as nn

torch.backends.cuda.matmul.allow_tf32 = True


class ModelNew(nn.Module):
    def forward(self, a, b):
        torch.backends.cuda.matmul.allow_tf32 = True
        return a @ b
