# expect: python.type
# tools: torch
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.from_numpy(x.to(torch.bfloat16).numpy())
