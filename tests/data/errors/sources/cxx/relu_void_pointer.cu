// expect: cxx.conversion
// tools: nvcc hipcc
#ifndef __HIP__
#include <cuda_runtime.h>
#else
#include <hip/hip_runtime.h>
#define cudaStream_t hipStream_t
#endif
#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

__global__ void relu(const float* x, float* y, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.f ? x[i] : 0.f;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  const struct kgen_tensor* in = kgen_at(&args->inputs, 0);
  float* x = in->data;
  float* y = (float*)kgen_at(&args->outputs, 0)->data;
  size_t n = in->element_count;
  relu<<<(unsigned)((n + 255) / 256), 256, 0, (cudaStream_t)args->stream>>>(x, y, n);
  return 0;
}
