// expect: cxx.call
// tools: nvcc
#include <mma.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
namespace wmma = nvcuda::wmma;

__global__ void qk_scores(const half* q, const half* k, float* s, int n, int d) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.f);
  for (int c = 0; c < d; c += 16) {
    wmma::load_matrix_sync(a, q + blockIdx.y * 16 * d + c, d);
    wmma::load_matrix_sync(b, k + blockIdx.x * 16 * d + c, d);
    wmma::mma_sync(acc, a, b, acc);
  }
  wmma::store_matrix_sync(s + blockIdx.y * 16 * n + blockIdx.x * 16, acc, n);
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
