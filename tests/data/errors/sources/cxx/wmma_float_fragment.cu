// expect: cxx.incomplete
// tools: nvcc
#include <mma.h>
#include <cuda_fp16.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
using namespace nvcuda;

__global__ void wmma_gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  int warp_m = blockIdx.y, warp_n = blockIdx.x;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, float, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, float, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int k = 0; k < K; k += 16) {
    wmma::load_matrix_sync(fa, A + warp_m * 16 * K + k, K);
    wmma::load_matrix_sync(fb, B + k * N + warp_n * 16, N);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(C + warp_m * 16 * N + warp_n * 16, fc, N, wmma::mem_row_major);
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
