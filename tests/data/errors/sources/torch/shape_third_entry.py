# expect: python.index
# tools: torch
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        layers = [64, 128]
        out = x
        for i in range(3):
            out = out * layers[i]
        return out
