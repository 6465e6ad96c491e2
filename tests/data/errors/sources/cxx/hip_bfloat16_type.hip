// expect: cxx.undeclared
// tools: hipcc
#include <hip/hip_runtime.h>
#include <hip/hip_bfloat16.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void rmsnorm_bf16(const __hip_bfloat16* x, const __hip_bfloat16* w, __hip_bfloat16* y, int d) {
  float ss = 0.f;
  for (int i = 0; i < d; ++i) { float v = __bfloat162float(x[blockIdx.x * d + i]); ss += v * v; }
  float r = rsqrtf(ss / d + 1e-6f);
  for (int i = threadIdx.x; i < d; i += blockDim.x)
    y[blockIdx.x * d + i] = __float2bfloat16(__bfloat162float(x[blockIdx.x * d + i]) * r * __bfloat162float(w[i]));
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
