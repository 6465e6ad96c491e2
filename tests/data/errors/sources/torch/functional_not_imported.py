# expect: python.missing_import
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 3, padding=1)

    def forward(self, x):
        x = self.conv(x.unsqueeze(1))
        x = F.leaky_relu(x, negative_slope=0.1)
        return F.max_pool1d(x, 2)
