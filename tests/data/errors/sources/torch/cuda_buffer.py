# expect: torch.no_device
# tools: torch
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(128, 128)

    def forward(self, x):
        x = x.cuda()
        out = torch.empty((x.shape[0], 128), device="cuda")
        torch.mm(x, self.linear.weight.cuda().t(), out=out)
        return out
