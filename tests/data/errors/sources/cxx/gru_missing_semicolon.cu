// expect: cxx.syntax
// tools: nvcc hipcc
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__device__ float sigmoid(float v) { return 1.f / (1.f + __expf(-v)); }

__global__ void gru_cell(const float* gi, const float* gh, const float* h, float* out, int hidden) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= hidden) return;
  float r = sigmoid(gi[j] + gh[j]);
  float z = sigmoid(gi[hidden + j] + gh[hidden + j])
  float n = tanhf(gi[2 * hidden + j] + r * gh[2 * hidden + j]);
  out[j] = (1.f - z) * n + z * h[j];
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
