#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

template <int STAGES>
__global__ void gemm(const half* A, const half* B, float* C, int M, int N, int K) {
  __shared__ half as[STAGES][64 * 32];
  __shared__ half bs[STAGES][32 * 64];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.f);
  int stage = 0;
  for (int k0 = 0; k0 < K; k0 += 32) {
    for (int i = threadIdx.x; i < 64 * 32; i += blockDim.x) {
      as[stage][i] = A[(blockIdx.y * 64 + i / 32) * K + k0 + i % 32];
      bs[stage][i] = B[(k0 + i / 64) * N + blockIdx.x * 64 + i % 64];
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      wmma::load_matrix_sync(fa, &as[stage][kk], 32);
      wmma::load_matrix_sync(fb, &bs[stage][kk * 64], 64);
      wmma::mma_sync(acc, fa, fb, acc);
    }
    stage = (stage + 1) % STAGES;
  }
  wmma::store_matrix_sync(C + blockIdx.y * 64 * N + blockIdx.x * 64, acc, N, wmma::mem_row_major);
}

void run(const half* a, const half* b, float* c) { gemm<2><<<dim3(16, 16), 128>>>(a, b, c, 1024, 1024, 1024); }
