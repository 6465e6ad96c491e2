# expect: python.missing_import
# tools: torch
import torch

m = load_inline(name='a', cpp_sources='')


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
