import torch
from torch.utils.cpp_extension import load_inline
cuda = r"""
template <typename F> __global__ void map(const float* x, float* y, int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = f(x[i]);
}
struct Gelu { __device__ float operator()(float v) const { return 0.5f * v * (1.f + erff(v * 0.70710678f)); } };
torch::Tensor gelu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  map<<<256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel(), Gelu{});
  return y;
}
"""
m = load_inline(name="g", cpp_sources="torch::Tensor gelu(torch::Tensor x);", cuda_sources=cuda, functions=["gelu"])


class ModelNew(torch.nn.Module):
    """for t in range(T): h = m.gelu(h)"""

    def forward(self, xs):
        return [m.gelu(x) for x in xs]
