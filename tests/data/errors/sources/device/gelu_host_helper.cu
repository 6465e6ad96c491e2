// expect: device.host_function
// tools: nvcc hipcc
#if defined(__HIP__)
#include <hip/hip_runtime.h>
#endif
#include <cmath>
#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

static inline float gelu_tanh(float v) {
  const float c = 0.7978845608028654f;
  return 0.5f * v * (1.0f + tanhf(c * (v + 0.044715f * v * v * v)));
}

__global__ void bias_gelu_epilogue(float* c, const float* bias, int m, int n) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y;
  if (col < n && row < m) c[row * n + col] = gelu_tanh(c[row * n + col] + bias[col]);
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
