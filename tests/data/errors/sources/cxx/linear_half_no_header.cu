// expect: cxx.undeclared
// tools: nvcc
// Linear in fp16 with fp32 accumulation.
#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

__global__ void linear_fp16(const __half* x, const __half* w, const __half* b, __half* y, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || col >= n) return;
  float acc = 0.0f;
  for (int i = 0; i < k; ++i) acc += __half2float(x[row * k + i]) * __half2float(w[col * k + i]);
  y[row * n + col] = __float2half(acc + __half2float(b[col]));
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
