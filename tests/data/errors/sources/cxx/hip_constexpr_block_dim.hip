// expect: cxx.constant
// tools: hipcc
#include <hip/hip_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void layernorm_stats(const float* x, float* mean, int cols) {
  constexpr int kWaves = blockDim.x / 64;
  __shared__ float partial[kWaves];
  float s = 0.f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) s += x[(size_t)blockIdx.x * cols + i];
  for (int o = 32; o > 0; o /= 2) s += __shfl_down(s, o);
  if (threadIdx.x % 64 == 0) partial[threadIdx.x / 64] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    float t = 0.f;
    for (int i = 0; i < kWaves; ++i) t += partial[i];
    mean[blockIdx.x] = t / cols;
  }
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
