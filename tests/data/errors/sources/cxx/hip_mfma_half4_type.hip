// expect: cxx.conversion
// tools: hipcc
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void mfma_gemm(const _Float16* A, const _Float16* B, float* C, int K) {
  using half4_t = __attribute__((__vector_size__(4 * sizeof(_Float16)))) _Float16;
  int lane = threadIdx.x;
  float4 acc = make_float4(0.f, 0.f, 0.f, 0.f);
  for (int k = 0; k < K; k += 16) {
    half4_t a = *(const half4_t*)(A + (lane % 16) * K + k + 4 * (lane / 16));
    half4_t b = *(const half4_t*)(B + (lane % 16) * K + k + 4 * (lane / 16));
    acc = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, acc, 0, 0, 0);
  }
  for (int i = 0; i < 4; ++i) C[(4 * (lane / 16) + i) * 16 + lane % 16] = (&acc.x)[i];
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
