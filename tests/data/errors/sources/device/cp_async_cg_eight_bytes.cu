// expect: device.assembly
// tools: nvcc
#include <cuda_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__device__ __forceinline__ void cp_async(void* smem, const void* gmem) {
  unsigned s = (unsigned)__cvta_generic_to_shared(smem);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 8;\n" ::"r"(s), "l"(gmem));
}

__global__ void rowsum(const float2* x, float* y, int cols2) {
  __shared__ float2 stage[128];
  float acc = 0.f;
  for (int i = 0; i < cols2; i += 128) {
    cp_async(&stage[threadIdx.x], x + (size_t)blockIdx.x * cols2 + i + threadIdx.x);
    asm volatile("cp.async.commit_group;\n" ::);
    asm volatile("cp.async.wait_group 0;\n" ::);
    __syncthreads();
    acc += stage[threadIdx.x].x + stage[threadIdx.x].y;
  }
  atomicAdd(y + blockIdx.x, acc);
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
