#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

// One block per sample. The next step's inputs are fetched while this step is computed.
template <int H>
__global__ __launch_bounds__(H) void gru_prefetch(const float* __restrict__ gi, const float* __restrict__ w,
                                                  float* __restrict__ y, int T) {
  __shared__ alignas(16) float stage[2][3 * H];
  __shared__ float h[H];
  const int j = threadIdx.x;
  const float* mine = gi + (size_t)blockIdx.x * T * 3 * H;
  auto fetch = [&](int slot, int t) {
    for (int i = j; i < 3 * H / 4; i += H)
      __pipeline_memcpy_async(&stage[slot][4 * i], mine + (size_t)t * 3 * H + 4 * i, 16);
    __pipeline_commit();
  };
  h[j] = 0.f;
  fetch(0, 0);
  for (int t = 0; t < T; ++t) {
    const int slot = t & 1;
    if (t + 1 < T) {
      fetch(slot ^ 1, t + 1);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    float r = stage[slot][j], z = stage[slot][H + j], n = 0.f;
    for (int k = 0; k < H; ++k) {
      r += w[(size_t)k * 3 * H + j] * h[k];
      z += w[(size_t)k * 3 * H + H + j] * h[k];
      n += w[(size_t)k * 3 * H + 2 * H + j] * h[k];
    }
    r = 1.f / (1.f + __expf(-r));
    z = 1.f / (1.f + __expf(-z));
    n = tanhf(stage[slot][2 * H + j] + r * n);
    const float v = n + z * (h[j] - n);
    __syncthreads();
    h[j] = v;
    y[((size_t)blockIdx.x * T + t) * H + j] = v;
    __syncthreads();
  }
}

void run(const float* gi, const float* w, float* y, int batch, int T, cudaStream_t s) {
  gru_prefetch<256><<<batch, 256, 0, s>>>(gi, w, y, T);
}
