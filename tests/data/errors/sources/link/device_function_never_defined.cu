// expect: link.undefined
// tools: nvcc hipcc
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__device__ float block_reduce_sum(float v, float* scratch);

__global__ void cross_entropy(const float* logits, const int64_t* target, float* loss, int classes) {
  __shared__ float scratch[32];
  const float* row = logits + (size_t)blockIdx.x * classes;
  float s = 0.f;
  for (int i = threadIdx.x; i < classes; i += blockDim.x) s += expf(row[i]);
  s = block_reduce_sum(s, scratch);
  if (threadIdx.x == 0) loss[blockIdx.x] = logf(s) - row[target[blockIdx.x]];
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
