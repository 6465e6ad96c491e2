// expect: cxx.call
// tools: nvcc hipcc
#ifdef __HIP__
#include <hip/hip_runtime.h>
typedef hipStream_t gpu_stream;
#else
#include <cuda_runtime.h>
typedef cudaStream_t gpu_stream;
#endif
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void hardswish(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * fminf(fmaxf(x[i] + 3.f, 0.f), 6.f) / 6.f;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_find(args->inputs, "x");
  const kgen_tensor* y = kgen_find(args->outputs, "output");
  const int64_t n = (int64_t)x->element_count;
  hardswish<<<dim3((unsigned)((n + 255) / 256)), 256, 0, (gpu_stream)args->stream>>>((const float*)x->data, (float*)y->data, n);
  return 0;
}
