#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <mma.h>

namespace cg = cooperative_groups;
using namespace nvcuda;

// 16 hidden units per block, batch of 16 padded rows, half precision state, fp32 gates.
constexpr int TILE = 16;

__global__ void __launch_bounds__(96) gru_wmma(const float* __restrict__ gi, const half* __restrict__ w_hh,
                                               const float* __restrict__ b_hh, half* hidden, float* __restrict__ y,
                                               int T, int H) {
  __shared__ float gate[3][TILE * TILE];
  auto grid = cg::this_grid();
  const int warp = threadIdx.x / 32;  // one warp per gate
  const int unit0 = blockIdx.x * TILE;

  for (int t = 0; t < T; ++t) {
    const half* h_old = hidden + (size_t)(t % 2) * TILE * H;
    half* h_new = hidden + (size_t)((t + 1) % 2) * TILE * H;

    wmma::fragment<wmma::accumulator, TILE, TILE, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int k = 0; k < H; k += 16) {
      wmma::fragment<wmma::matrix_a, TILE, TILE, 16, half, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, TILE, TILE, 16, half, wmma::col_major> b;
      wmma::load_matrix_sync(a, h_old + k, H);
      wmma::load_matrix_sync(b, w_hh + (size_t)(warp * H + unit0) * H + k, H);
      wmma::mma_sync(acc, a, b, acc);
    }
    wmma::store_matrix_sync(gate[warp], acc, TILE, wmma::mem_row_major);
    __syncthreads();

    for (int e = threadIdx.x; e < TILE * TILE; e += blockDim.x) {
      const int row = e / TILE;
      const int u = unit0 + e % TILE;
      const float* g = gi + ((size_t)t * TILE + row) * 3 * H;
      const float r = 1.f / (1.f + __expf(-(g[u] + gate[0][e] + b_hh[u])));
      const float z = 1.f / (1.f + __expf(-(g[H + u] + gate[1][e] + b_hh[H + u])));
      const float n = tanhf(g[2 * H + u] + r * (gate[2][e] + b_hh[2 * H + u]));
      const float h = (1.f - z) * n + z * __half2float(h_old[row * H + u]);
      h_new[row * H + u] = __float2half(h);
      y[((size_t)t * TILE + row) * H + u] = h;
    }
    grid.sync();
  }
}

extern "C" int gru(const float* gi, const half* w, const float* b, half* hidden, float* y, int T, int H, cudaStream_t s) {
  void* params[] = {&gi, &w, &b, &hidden, &y, &T, &H};
  return cudaLaunchCooperativeKernel((const void*)gru_wmma, H / TILE, 96, params, 0, s) != cudaSuccess;
}
