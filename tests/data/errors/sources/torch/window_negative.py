# expect: torch.arguments
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.hann_window(-4) * x[:, :4]
