"""Wrong: CUDA text that does not compile."""

import torch.nn as nn
from torch.utils.cpp_extension import load_inline

broken = load_inline(
    name="broken_inline",
    cpp_sources="torch::Tensor relu_cuda(torch::Tensor x);",
    cuda_sources="torch::Tensor relu_cuda(torch::Tensor x) { return no_such_name(x); }",
    functions=["relu_cuda"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return broken.relu_cuda(x)
