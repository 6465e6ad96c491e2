// expect: cxx.constant
// tools: nvcc
#include <cuda_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

template <int HIDDEN>
__global__ void layernorm_fixed(const float* x, float* y) {
  float v[HIDDEN / 32], s = 0.f, q = 0.f;
  for (int i = 0; i < HIDDEN / 32; ++i) { v[i] = x[blockIdx.x * HIDDEN + i * 32 + threadIdx.x]; s += v[i]; q += v[i] * v[i]; }
  for (int o = 16; o; o >>= 1) { s += __shfl_xor_sync(~0u, s, o); q += __shfl_xor_sync(~0u, q, o); }
  float mean = s / HIDDEN, rstd = rsqrtf(q / HIDDEN - mean * mean + 1e-5f);
  for (int i = 0; i < HIDDEN / 32; ++i) y[blockIdx.x * HIDDEN + i * 32 + threadIdx.x] = (v[i] - mean) * rstd;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const int hidden = (int)kgen_dim(x, -1);
  const int rows = (int)(x->element_count / hidden);
  layernorm_fixed<hidden><<<rows, 32, 0, (cudaStream_t)args->stream>>>((const float*)x->data, (float*)kgen_at(&args->outputs, 0)->data);
  return 0;
}
