// expect: cxx.undeclared
// tools: hipcc
#include <hip/hip_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__device__ __forceinline__ float wave_sum(float v) {
#pragma unroll
  for (int o = 32; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffffffffffULL, v, o);
  return v;
}

__global__ void sum_rows(const float* x, float* y, int cols) {
  float v = 0.f;
  for (int i = threadIdx.x; i < cols; i += 64) v += x[(size_t)blockIdx.x * cols + i];
  v = wave_sum(v);
  if (threadIdx.x == 0) y[blockIdx.x] = v;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
