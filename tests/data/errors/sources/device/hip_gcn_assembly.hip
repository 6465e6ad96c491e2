// expect: device.assembly
// tools: hipcc
#include <hip/hip_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__device__ inline float fma_asm(float a, float b, float c) {
  float d;
  asm volatile("v_fma_mix_f32_rtz %0, %1, %2, %3" : "=v"(d) : "v"(a), "v"(b), "v"(c));
  return d;
}

__global__ void axpb(const float* x, float* y, float a, float b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fma_asm(a, x[i], b);
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
