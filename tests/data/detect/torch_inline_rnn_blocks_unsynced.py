import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

template <int THREADS>
__global__ void rnn_fused(const float* __restrict__ xproj, const float* __restrict__ w_hh, float* __restrict__ h,
                          float* __restrict__ out, int steps, int batch, int hidden) {
  // blockIdx.x: slice of hidden units, blockIdx.y: batch row
  __shared__ float h_local[2048];
  const int b = blockIdx.y;
  const int j = blockIdx.x * THREADS + threadIdx.x;
  for (int t = 0; t < steps; ++t) {
    for (int k = threadIdx.x; k < hidden; k += THREADS) h_local[k] = h[b * hidden + k];
    __syncthreads();
    if (j < hidden) {
      float acc = xproj[((size_t)t * batch + b) * hidden + j];
      #pragma unroll 8
      for (int k = 0; k < hidden; ++k) acc += w_hh[(size_t)j * hidden + k] * h_local[k];
      float v = tanhf(acc);
      h[b * hidden + j] = v;
      out[((size_t)t * batch + b) * hidden + j] = v;
    }
    __threadfence();
    __syncthreads();
  }
}

torch::Tensor rnn_forward(torch::Tensor xproj, torch::Tensor w_hh, torch::Tensor h0) {
  auto h = h0.clone();
  auto out = torch::empty_like(xproj);
  const int steps = xproj.size(0), batch = xproj.size(1), hidden = xproj.size(2);
  const dim3 grid((hidden + 255) / 256, batch);
  rnn_fused<256><<<grid, 256>>>(xproj.data_ptr<float>(), w_hh.data_ptr<float>(), h.data_ptr<float>(),
                                out.data_ptr<float>(), steps, batch, hidden);
  return out;
}
"""

ext = load_inline(
    name="rnn_fused_ext",
    cpp_sources=["torch::Tensor rnn_forward(torch::Tensor xproj, torch::Tensor w_hh, torch::Tensor h0);"],
    cuda_sources=[cuda_source],
    functions=["rnn_forward"],
    with_cuda=True,
)


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.i2h = nn.Linear(input_size, hidden_size)
        self.h2h = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, x, h0):
        return ext.rnn_forward(self.i2h(x).contiguous(), self.h2h.weight.contiguous(), h0.contiguous())
