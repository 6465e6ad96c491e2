// expect: device.architecture
// tools: nvcc
#include <cuda_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

// Accumulators live in tensor memory: 128 columns.
__global__ void gemm_tmem(const uint8_t* a, const uint8_t* b, float* c) {
  __shared__ uint32_t tmem_base;
  if (threadIdx.x < 32) {
    uint32_t addr = (uint32_t)__cvta_generic_to_shared(&tmem_base);
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(addr), "r"(128));
  }
  __syncthreads();
  uint32_t base = tmem_base;
  c[threadIdx.x] = (float)base;
  __syncthreads();
  if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(base), "r"(128));
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
