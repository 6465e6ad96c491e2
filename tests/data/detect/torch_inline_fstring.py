import torch
from torch.utils.cpp_extension import load_inline

HIDDEN = 128

helpers = "__device__ __forceinline__ float squash(float v) { return 1.f / (1.f + __expf(-v)); }\n"

kernel = f"""
#include <torch/extension.h>
{helpers}
template <typename T>
__global__ void __launch_bounds__({HIDDEN}) rnn(const T* x, const T* u, T* y, int steps) {{
  __shared__ T h[{HIDDEN}];
  const int j = threadIdx.x;
  h[j] = 0;
  __syncthreads();
  for (int t = 0; t < steps; ++t) {{
    T sum = x[(blockIdx.x * steps + t) * {HIDDEN} + j];
    for (int k = 0; k < {HIDDEN}; ++k) {{ sum += u[j * {HIDDEN} + k] * h[k]; }}
    __syncthreads();
    h[j] = squash(sum);
    y[(blockIdx.x * steps + t) * {HIDDEN} + j] = h[j];
    __syncthreads();
  }}
}}
"""

binding = (
    "torch::Tensor rnn_forward(torch::Tensor x, torch::Tensor u) {\n"
    "  auto y = torch::empty_like(x);\n"
    "  // one launch for the whole sequence\n"
    "  rnn<float><<<x.size(0), x.size(2)>>>(x.data_ptr<float>(), u.data_ptr<float>(), y.data_ptr<float>(), x.size(1));\n"
    "  return y;\n"
    "}\n"
)

ext = load_inline(
    name="rnn",
    cpp_sources=["torch::Tensor rnn_forward(torch::Tensor x, torch::Tensor u);"],
    cuda_sources=[kernel + binding],
    functions=["rnn_forward"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.u = torch.nn.Parameter(torch.randn(HIDDEN, HIDDEN))

    def forward(self, x):
        return ext.rnn_forward(x, self.u)
