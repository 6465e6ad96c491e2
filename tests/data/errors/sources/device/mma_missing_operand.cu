// expect: device.assembly
// tools: nvcc
#include <cuda_bf16.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__device__ inline void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__global__ void gemm_bf16(const uint32_t* A, const uint32_t* B, float* C, int k) {
  float d[4] = {0.f, 0.f, 0.f, 0.f};
  int lane = threadIdx.x & 31;
  for (int i = 0; i < k; i += 16) {
    uint32_t a[4], b[2];
    for (int j = 0; j < 4; ++j) a[j] = A[(i / 16 * 32 + lane) * 4 + j];
    for (int j = 0; j < 2; ++j) b[j] = B[(i / 16 * 32 + lane) * 2 + j];
    mma_m16n8k16(d, a, b);
  }
  for (int j = 0; j < 4; ++j) C[lane * 4 + j] = d[j];
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
