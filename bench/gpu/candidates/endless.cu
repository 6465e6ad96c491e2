// A kernel that never ends.
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

__global__ void endless(const volatile float* x, float* y) {
  while (x[0] == x[0]) y[0] = x[0];
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  endless<<<1, 1, 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(kgen_at(&args->inputs, 0)->data),
      static_cast<float*>(kgen_at(&args->outputs, 0)->data));
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
