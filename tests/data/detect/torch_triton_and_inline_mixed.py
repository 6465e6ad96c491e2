import torch
import triton
import triton.language as tl
from torch.utils.cpp_extension import load_inline

SOURCE = """
__global__ void scale(float* x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
}
void scale_(torch::Tensor x, double a) { scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), a, x.numel()); }
"""
native = load_inline("native", "void scale_(torch::Tensor x, double a);", SOURCE, functions=["scale_"])


@triton.jit
def silu(x_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(x_ptr + i, x * tl.sigmoid(x), mask=i < n)


@torch.jit.script
def reference(x: torch.Tensor, h: torch.Tensor):
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] + h)
    return h


class ModelNew(torch.nn.Module):
    def forward(self, x):
        native.scale_(x, 2.0)
        silu[(triton.cdiv(x.numel(), 1024),)](x, x.numel(), B=1024)
        return x
