import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
__global__ void gru_gates(const float* gi, const float* gh, const float* h, float* out, int H, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int b = i / H, j = i % H;
  float r = 1.f / (1.f + expf(-(gi[b * 3 * H + j] + gh[b * 3 * H + j])));
  float z = 1.f / (1.f + expf(-(gi[b * 3 * H + H + j] + gh[b * 3 * H + H + j])));
  float c = tanhf(gi[b * 3 * H + 2 * H + j] + r * gh[b * 3 * H + 2 * H + j]);
  out[i] = c + z * (h[i] - c);
}
void gru_gates_out(torch::Tensor gi, torch::Tensor gh, torch::Tensor h, torch::Tensor out) {
  int n = h.numel(), H = h.size(1);
  gru_gates<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
      gi.data_ptr<float>(), gh.data_ptr<float>(), h.data_ptr<float>(), out.data_ptr<float>(), H, n);
}
"""

ops = load_inline("gru_gates_ops", cpp_sources="void gru_gates_out(torch::Tensor gi, torch::Tensor gh, torch::Tensor h, torch::Tensor out);",
                  cuda_sources=source, functions=["gru_gates_out"])


class ModelNew(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.cell = nn.GRUCell(input_size, hidden_size)
        self.hidden = hidden_size
        self.graph = None

    def _sequence(self):
        pre = torch.nn.functional.linear(self.static_x, self.cell.weight_ih, self.cell.bias_ih)
        for t in range(self.static_x.size(0)):
            gh = torch.nn.functional.linear(self.states[t], self.cell.weight_hh, self.cell.bias_hh)
            ops.gru_gates_out(pre[t], gh, self.states[t], self.states[t + 1])

    def _capture(self, x):
        self.static_x = x.clone()
        self.states = torch.zeros(x.size(0) + 1, x.size(1), self.hidden, device=x.device)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._sequence()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._sequence()

    def forward(self, x, h0):
        if self.graph is None:
            self._capture(x)
        self.static_x.copy_(x)
        self.states[0].copy_(h0)
        self.graph.replay()
        return self.states[1:].clone()
