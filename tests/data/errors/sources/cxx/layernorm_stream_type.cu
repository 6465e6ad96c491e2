// expect: cxx.conversion
// tools: nvcc
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {
__global__ void layernorm_kernel(const float* x, const float* g, const float* b, float* y, int d) {
  __shared__ float s_mean, s_rstd;
  const float* row = x + (size_t)blockIdx.x * d;
  if (threadIdx.x == 0) {
    float s = 0.f, q = 0.f;
    for (int i = 0; i < d; ++i) { s += row[i]; q += row[i] * row[i]; }
    s_mean = s / d;
    s_rstd = rsqrtf(q / d - s_mean * s_mean + 1e-5f);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < d; i += blockDim.x) y[(size_t)blockIdx.x * d + i] = (row[i] - s_mean) * s_rstd * g[i] + b[i];
}
}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  cudaStream_t stream = args->stream;
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* g = kgen_find(&args->parameters, "norm.weight");
  const kgen_tensor* b = kgen_find(&args->parameters, "norm.bias");
  kgen_tensor const* y = kgen_find(&args->outputs, "output");
  int d = static_cast<int>(kgen_dim(x, -1));
  layernorm_kernel<<<static_cast<int>(x->element_count / d), 256, 0, stream>>>(
      static_cast<const float*>(x->data), static_cast<const float*>(g->data), static_cast<const float*>(b->data),
      static_cast<float*>(y->data), d);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
