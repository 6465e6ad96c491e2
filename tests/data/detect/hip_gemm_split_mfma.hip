#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

using half4 = __attribute__((__vector_size__(4 * sizeof(_Float16)))) _Float16;
using float4v = __attribute__((__vector_size__(4 * sizeof(float)))) float;

constexpr int TILE_M = 64, TILE_N = 64, TILE_K = 32;

// Stream-K: every workgroup gets an equal number of (tile, k) units; partial tiles are added with atomics.
__global__ __launch_bounds__(256) void gemm_stream_k(const _Float16* __restrict__ a, const _Float16* __restrict__ b,
                                                      float* __restrict__ c, int m, int n, int k, int units_per_group,
                                                      int total_units) {
  __shared__ _Float16 lds_a[2][TILE_M * TILE_K];
  __shared__ _Float16 lds_b[2][TILE_K * TILE_N];
  const int k_units = k / TILE_K;
  int unit = blockIdx.x * units_per_group;
  const int last = min(unit + units_per_group, total_units);
  const int lane = threadIdx.x % 64;
  const int wave = threadIdx.x / 64;

  while (unit < last) {
    const int tile = unit / k_units;
    const int tile_end = min((tile + 1) * k_units, last);
    const int row0 = (tile / (n / TILE_N)) * TILE_M;
    const int col0 = (tile % (n / TILE_N)) * TILE_N;
    float4v acc[4] = {};
    int ping = 0;
    for (; unit < tile_end; ++unit) {
      const int k0 = (unit % k_units) * TILE_K;
      for (int i = threadIdx.x; i < TILE_M * TILE_K; i += 256)
        lds_a[ping][i] = a[(size_t)(row0 + i / TILE_K) * k + k0 + i % TILE_K];
      for (int i = threadIdx.x; i < TILE_K * TILE_N; i += 256)
        lds_b[ping][i] = b[(size_t)(k0 + i / TILE_N) * n + col0 + i % TILE_N];
      __syncthreads();
      for (int kk = 0; kk < TILE_K; kk += 16) {
        half4 fa, fb;
        for (int e = 0; e < 4; ++e) fa[e] = lds_a[ping][(wave * 16 + lane % 16) * TILE_K + kk + lane / 16 * 4 + e];
        for (int s = 0; s < 4; ++s) {
          for (int e = 0; e < 4; ++e) fb[e] = lds_b[ping][(kk + lane / 16 * 4 + e) * TILE_N + s * 16 + lane % 16];
          acc[s] = __builtin_amdgcn_mfma_f32_16x16x16f16(fa, fb, acc[s], 0, 0, 0);
        }
      }
      ping ^= 1;
    }
    for (int s = 0; s < 4; ++s)
      for (int e = 0; e < 4; ++e)
        atomicAdd(&c[(size_t)(row0 + wave * 16 + lane / 16 * 4 + e) * n + col0 + s * 16 + lane % 16], acc[s][e]);
    __syncthreads();
  }
}

void launch(const _Float16* a, const _Float16* b, float* c, int m, int n, int k, int cus, hipStream_t stream) {
  const int total = (m / TILE_M) * (n / TILE_N) * (k / TILE_K);
  const int per_group = (total + cus - 1) / cus;
  gemm_stream_k<<<cus, 256, 0, stream>>>(a, b, c, m, n, k, per_group, total);
}
