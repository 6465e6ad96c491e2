// expect: cxx.not_callable
// tools: nvcc hipcc
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void log_softmax(const float* x, float* y, int cols) {
  const float* row = x + (size_t)blockIdx.x * cols;
  float max = row[0];
  for (int i = 1; i < cols; ++i) max = max(max, row[i]);
  float sum = 0.f;
  for (int i = 0; i < cols; ++i) sum += expf(row[i] - max);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[(size_t)blockIdx.x * cols + i] = row[i] - max - logf(sum);
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
