// expect: cxx.ambiguous
// tools: hipcc
#include <hip/hip_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void alibi_bias(const float* scores, float* y, int n, float slope) {
  const unsigned row = blockIdx.x;
  const unsigned col = blockIdx.y * blockDim.x + threadIdx.x;
  if (col < n) y[(size_t)row * n + col] = scores[(size_t)row * n + col] - slope * abs(row - col);
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
