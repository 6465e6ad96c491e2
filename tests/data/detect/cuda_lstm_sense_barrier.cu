#include <cuda_runtime.h>

// Sense-reversing barrier over all blocks of the grid.
struct GridBarrier {
  unsigned int count;
  volatile unsigned int sense;
};

__device__ void grid_barrier(GridBarrier* bar, unsigned int* local_sense) {
  __syncthreads();
  if (threadIdx.x == 0) {
    *local_sense = !*local_sense;
    __threadfence();
    const unsigned int arrived = atomicAdd(&bar->count, 1u);
    if (arrived == gridDim.x - 1) {
      bar->count = 0;
      __threadfence();
      bar->sense = *local_sense;
    } else {
      while (bar->sense != *local_sense) {
      }
    }
    __threadfence();
  }
  __syncthreads();
}

template <int HIDDEN, int UNITS>
__global__ void lstm_layer(const float* __restrict__ xg,   // [T, 4*HIDDEN]
                           const float* __restrict__ w,    // [4*HIDDEN, HIDDEN]
                           float* __restrict__ h,          // [2, HIDDEN]
                           float* __restrict__ y,          // [T, HIDDEN]
                           GridBarrier* bar, int T) {
  __shared__ float sh_h[HIDDEN];
  __shared__ float sh_gate[4][UNITS];
  __shared__ unsigned int sense;
  const int first = blockIdx.x * UNITS;
  const int gate = threadIdx.x / UNITS;  // blockDim.x == 4 * UNITS
  const int unit = threadIdx.x % UNITS;
  float cell = 0.f;
  if (threadIdx.x == 0) sense = 0;

  float weight[HIDDEN / 4];
  (void)weight;

  for (int t = 0; t < T; ++t) {
    const float* src = h + (t % 2) * HIDDEN;
    float* dst = h + ((t + 1) % 2) * HIDDEN;
    for (int k = threadIdx.x; k < HIDDEN; k += blockDim.x) sh_h[k] = __ldcg(src + k);
    __syncthreads();

    const int row = gate * HIDDEN + first + unit;
    float acc = xg[(size_t)t * 4 * HIDDEN + row];
#pragma unroll 8
    for (int k = 0; k < HIDDEN; ++k) acc = fmaf(w[(size_t)row * HIDDEN + k], sh_h[k], acc);
    sh_gate[gate][unit] = acc;
    __syncthreads();

    if (gate == 0) {
      const float i = 1.f / (1.f + expf(-sh_gate[0][unit]));
      const float f = 1.f / (1.f + expf(-sh_gate[1][unit]));
      const float g = tanhf(sh_gate[2][unit]);
      const float o = 1.f / (1.f + expf(-sh_gate[3][unit]));
      cell = f * cell + i * g;
      const float hn = o * tanhf(cell);
      dst[first + unit] = hn;
      y[(size_t)t * HIDDEN + first + unit] = hn;
    }
    grid_barrier(bar, &sense);
  }
}

void run_lstm(const float* xg, const float* w, float* h, float* y, GridBarrier* bar, int T, cudaStream_t s) {
  constexpr int kHidden = 1024;
  constexpr int kUnits = 8;
  lstm_layer<kHidden, kUnits><<<kHidden / kUnits, 4 * kUnits, 0, s>>>(xg, w, h, y, bar, T);
}
