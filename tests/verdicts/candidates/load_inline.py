"""An extension of torch's, which takes longer to compile than a call may take."""

import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
torch::Tensor fast_relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = in[i] > 0 ? in[i] : 0;
  return y;
}
"""
extension = load_inline("fast_relu_extension", SOURCE, functions=["fast_relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.fast_relu(x.contiguous())
