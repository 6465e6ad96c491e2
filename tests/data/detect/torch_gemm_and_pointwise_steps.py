import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>
#include <ATen/cuda/CUDABlas.h>

__global__ void rnn_tanh(float* a, const float* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = tanhf(a[i] + b[i]);
}

void tanh_launch(at::Tensor acc, const at::Tensor& pre) {
    int n = acc.numel();
    rnn_tanh<<<(n + 255) / 256, 256>>>(acc.data_ptr<float>(), pre.data_ptr<float>(), n);
}

at::Tensor rnn_sequence(at::Tensor x, at::Tensor w_ih, at::Tensor w_hh, at::Tensor h) {
    auto pre = at::matmul(x, w_ih.t());
    auto out = at::empty({x.size(0), x.size(1), h.size(1)}, x.options());
    int64_t t = 0;
    do {
        auto acc = out.select(0, t);
        at::mm_out(acc, h, w_hh.t());
        tanh_launch(acc, pre.select(0, t));
        h = acc;
    } while (++t < x.size(0));
    return out;
}
"""
ext = load_inline("rnn_seq", "at::Tensor rnn_sequence(at::Tensor x, at::Tensor w_ih, at::Tensor w_hh, at::Tensor h);", cuda_src,
                  functions=["rnn_sequence"])


class ModelNew(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.cell = nn.RNNCell(i, h, bias=False)

    def forward(self, x, h):
        return ext.rnn_sequence(x, self.cell.weight_ih, self.cell.weight_hh, h)
