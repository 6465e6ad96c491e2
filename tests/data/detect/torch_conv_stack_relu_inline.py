import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

elementwise_bias_relu = load_inline(
    name="bias_relu",
    cpp_sources="torch::Tensor bias_relu_(torch::Tensor x, torch::Tensor bias);",
    cuda_sources=r"""
#include <torch/extension.h>

__global__ void bias_relu_kernel(float4* x, const float* bias, int channels, int plane4, size_t total4) {
  size_t stride = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < total4; i += stride) {
    float b = bias[(i / plane4) % channels];
    float4 v = x[i];
    v.x = fmaxf(v.x + b, 0.f);
    v.y = fmaxf(v.y + b, 0.f);
    v.z = fmaxf(v.z + b, 0.f);
    v.w = fmaxf(v.w + b, 0.f);
    x[i] = v;
  }
}

torch::Tensor bias_relu_(torch::Tensor x, torch::Tensor bias) {
  const size_t total4 = x.numel() / 4;
  const int blocks = std::min<size_t>((total4 + 255) / 256, 4096);
  bias_relu_kernel<<<blocks, 256>>>(reinterpret_cast<float4*>(x.data_ptr<float>()), bias.data_ptr<float>(),
                                    x.size(1), x.size(2) * x.size(3) / 4, total4);
  return x;
}
""",
    functions=["bias_relu_"],
)


class ModelNew(nn.Module):
    """VGG-like stack: convolutions by cuDNN, bias and ReLU fused."""

    def __init__(self, widths=(3, 64, 64, 128, 128), num_classes=10):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in zip(widths[:-1], widths[1:]))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(widths[-1], num_classes)

    def forward(self, x):
        for conv in self.convs:
            x = torch.nn.functional.conv2d(x, conv.weight, None, conv.stride, conv.padding)
            x = elementwise_bias_relu.bias_relu_(x.contiguous(), conv.bias)
        return self.fc(self.pool(x).flatten(1))
