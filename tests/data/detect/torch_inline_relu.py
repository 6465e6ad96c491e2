from torch.utils.cpp_extension import load_inline

CUDA = """
__global__ void relu(float* x, long n) {
  for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = fmaxf(x[i], 0.f) * 2.f;
}
void run(torch::Tensor x) { relu<<<1024, 256>>>(x.data_ptr<float>(), x.numel()); }
"""
module = load_inline(name="relu", cpp_sources="void run(torch::Tensor);", cuda_sources=CUDA, functions=["run"])
