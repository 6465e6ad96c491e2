# expect: cxx.no_member
# tools: torch
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor f(torch::Tensor x) { float* p = x.data<float>().get(); return x.to_gpu(); }
"""
m = load_inline(name='m3', cpp_sources=SOURCE, functions=['f'])



class ModelNew(torch.nn.Module):
    def forward(self, x):
        return m.f(x)
