import torch
from torch.utils.cpp_extension import load_inline

CUDA = '''
__global__ void mix(const float* x, const float* h, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tanhf(x[i] + 0.5f * h[i]);
}
torch::Tensor advance(torch::Tensor x, torch::Tensor h) {
  auto out = torch::empty_like(h);
  mix<<<(h.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), h.data_ptr<float>(), out.data_ptr<float>(), h.numel());
  return out;
}
'''
ext = load_inline(name="mix", cpp_sources="", cuda_sources=CUDA, functions=["advance"])


class ModelNew(torch.nn.Module):
    def forward(self, x, h):
        for step in x.unbind(0):
            h = ext.advance(step, h)
        return h
