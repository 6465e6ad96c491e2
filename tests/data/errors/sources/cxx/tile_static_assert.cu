// expect: cxx.static_assert
// tools: nvcc hipcc
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

template <int BM, int BN, int BK, int TM, int TN, int THREADS>
__global__ void sgemm_reg(const float* A, const float* B, float* C, int M, int N, int K) {
  static_assert(BM * BN == TM * TN * THREADS, "thread tiles must cover the block tile");
  static_assert(BK % 8 == 0, "BK must be a multiple of 8");
  float acc[TM][TN] = {};
  for (int k = 0; k < K; ++k)
    for (int i = 0; i < TM; ++i)
      for (int j = 0; j < TN; ++j) acc[i][j] += A[(blockIdx.y * BM + i) * K + k] * B[k * N + blockIdx.x * BN + j];
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) C[(blockIdx.y * BM + i) * N + blockIdx.x * BN + j] = acc[i][j];
}

template __global__ void sgemm_reg<128, 128, 8, 8, 8, 128>(const float*, const float*, float*, int, int, int);

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
