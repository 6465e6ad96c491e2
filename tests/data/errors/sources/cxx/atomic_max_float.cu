// expect: cxx.call
// tools: nvcc
#include <cuda_runtime.h>
#include <math_constants.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void row_absmax(const float* x, float* amax, int cols) {
  __shared__ float s_max;
  if (threadIdx.x == 0) s_max = 0.f;
  __syncthreads();
  float m = 0.f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, fabsf(x[(size_t)blockIdx.x * cols + i]));
  atomicMax(&s_max, m);
  __syncthreads();
  if (threadIdx.x == 0) amax[blockIdx.x] = s_max;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
