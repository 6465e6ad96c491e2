import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
__global__ void cell(const float* z, const float* c, float* h2, float* c2, int H, int total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int b = i / H, j = i % H;
  const float* g = z + b * 4 * H;
  float ii = 1.f / (1.f + expf(-g[j]));
  float ff = 1.f / (1.f + expf(-g[H + j]));
  float gg = tanhf(g[2 * H + j]);
  float oo = 1.f / (1.f + expf(-g[3 * H + j]));
  float cc = ff * c[i] + ii * gg;
  c2[i] = cc;
  h2[i] = oo * tanhf(cc);
}
std::vector<torch::Tensor> lstm_cell(torch::Tensor z, torch::Tensor c) {
  auto h2 = torch::empty_like(c), c2 = torch::empty_like(c);
  int total = c.numel();
  cell<<<(total + 255) / 256, 256>>>(z.data_ptr<float>(), c.data_ptr<float>(), h2.data_ptr<float>(), c2.data_ptr<float>(), c.size(1), total);
  return {h2, c2};
}
"""
mod = load_inline("cell_ext", "std::vector<torch::Tensor> lstm_cell(torch::Tensor z, torch::Tensor c);", src, functions=["lstm_cell"])


class Direction(nn.Module):
    def __init__(self, i, h, reverse):
        super().__init__()
        self.wx = nn.Linear(i, 4 * h)
        self.wh = nn.Linear(h, 4 * h, bias=False)
        self.h, self.reverse = h, reverse

    def forward(self, x):
        steps = range(x.size(0) - 1, -1, -1) if self.reverse else range(x.size(0))
        h = x.new_zeros(x.size(1), self.h)
        c = torch.zeros_like(h)
        zx = self.wx(x)
        out = [None] * x.size(0)
        for t in steps:
            h, c = mod.lstm_cell((zx[t] + self.wh(h)).contiguous(), c)
            out[t] = h
        return torch.stack(out)


class ModelNew(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.fw, self.bw = Direction(i, h, False), Direction(i, h, True)

    def forward(self, x):
        return torch.cat([self.fw(x), self.bw(x)], dim=-1)
