# expect: cxx.undeclared
# tools: torch
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor f(torch::Tensor x) { return x; }
"""
m = load_inline(name='m4', cpp_sources=SOURCE, functions=['g'])



class ModelNew(torch.nn.Module):
    def forward(self, x):
        return m.g(x)
