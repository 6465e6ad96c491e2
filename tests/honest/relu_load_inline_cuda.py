# honest: CUDA that load_inline builds
# task: relu
# device: gpu
# timeout: 60

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
__global__ void relu_kernel(const float* x, float* y, long n) {
  const long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}

torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const long n = x.numel();
  relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
HEADER = "torch::Tensor relu(torch::Tensor x);"
extension = load_inline(name="honest_relu", cpp_sources=HEADER, cuda_sources=SOURCE, functions=["relu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.relu(x)
