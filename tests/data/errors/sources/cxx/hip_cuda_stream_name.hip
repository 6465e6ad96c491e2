// expect: cxx.undeclared
// tools: hipcc
#include <hip/hip_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void square(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];
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
  int n = (int)x->element_count;
  cudaStream_t stream = static_cast<cudaStream_t>(args->stream);
  hipLaunchKernelGGL(square, dim3((n + 255) / 256), dim3(256), 0, stream, (const float*)x->data, (float*)kgen_at(&args->outputs, 0)->data, n);
  return 0;
}
