// expect: device.shared_initializer
// tools: nvcc hipcc
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void mean_over_rows(const float* x, float* y, int cols) {
  __shared__ float block_sum = 0.0f;
  float v = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) v += x[blockIdx.x * cols + i];
  atomicAdd(&block_sum, v);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = block_sum / cols;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
