import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.nn.functional.cosine_similarity(a, b, dim=-1)


def get_inputs():
    return [torch.randn(128, 256), torch.randn(128, 256)]


def get_init_inputs():
    return []
