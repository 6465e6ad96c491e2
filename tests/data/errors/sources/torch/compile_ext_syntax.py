# expect: cxx.syntax
# tools: torch
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor f(torch::Tensor x) { auto y = torch::empty_like(x) return y; }
"""
m = load_inline(name='m2', cpp_sources=SOURCE, functions=['f'])



class ModelNew(torch.nn.Module):
    def forward(self, x):
        return m.f(x)
