// expect: cxx.ambiguous
// tools: nvcc
#include <cuda_fp16.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void leaky_relu_fp16(const __half* x, __half* y, int n, float slope) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half v = x[i];
  if (__hlt(v, __float2half(0.f))) v = v * 0.01;
  y[i] = v;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
