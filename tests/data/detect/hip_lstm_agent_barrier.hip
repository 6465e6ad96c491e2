#include <hip/hip_runtime.h>

// All workgroups meet here. `counter` only grows, so it never has to be reset.
__device__ inline void wait_for_all(unsigned* counter, unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    while (__hip_atomic_load(counter, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < target) {
      __builtin_amdgcn_s_sleep(1);
    }
  }
  __syncthreads();
}

constexpr int kUnitsPerGroup = 16;
constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
lstm_all(const float* __restrict__ pre, const float* __restrict__ u, float* h, float* __restrict__ c,
         float* __restrict__ y, unsigned* counter, int steps, int batch, int hidden) {
  const int lane = threadIdx.x % 64;
  const int wave = threadIdx.x / 64;
  const int unit0 = blockIdx.x * kUnitsPerGroup;
  for (int step = 0; step < steps; ++step) {
    const float* h_in = h + (step & 1 ? batch * hidden : 0);
    float* h_out = h + (step & 1 ? 0 : batch * hidden);
    for (int item = wave; item < batch * kUnitsPerGroup; item += kThreads / 64) {
      const int row = item / kUnitsPerGroup;
      const int unit = unit0 + item % kUnitsPerGroup;
      float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      for (int k = lane; k < hidden; k += 64) {
        const float hv = h_in[row * hidden + k];
        s0 += hv * u[(size_t)unit * hidden + k];
        s1 += hv * u[(size_t)(hidden + unit) * hidden + k];
        s2 += hv * u[(size_t)(2 * hidden + unit) * hidden + k];
        s3 += hv * u[(size_t)(3 * hidden + unit) * hidden + k];
      }
      for (int m = 32; m > 0; m >>= 1) {
        s0 += __shfl_xor(s0, m);
        s1 += __shfl_xor(s1, m);
        s2 += __shfl_xor(s2, m);
        s3 += __shfl_xor(s3, m);
      }
      if (lane == 0) {
        const float* p = pre + ((size_t)step * batch + row) * 4 * hidden;
        const float i = 1.f / (1.f + __expf(-(p[unit] + s0)));
        const float f = 1.f / (1.f + __expf(-(p[hidden + unit] + s1)));
        const float g = tanhf(p[2 * hidden + unit] + s2);
        const float o = 1.f / (1.f + __expf(-(p[3 * hidden + unit] + s3)));
        const float cell = f * c[row * hidden + unit] + i * g;
        c[row * hidden + unit] = cell;
        const float v = o * tanhf(cell);
        h_out[row * hidden + unit] = v;
        y[((size_t)step * batch + row) * hidden + unit] = v;
      }
    }
    wait_for_all(counter, (step + 1) * gridDim.x);
  }
}

int lstm(const float* pre, const float* u, float* h, float* c, float* y, unsigned* counter, int steps, int batch,
         int hidden, hipStream_t stream) {
  hipMemsetAsync(counter, 0, sizeof(unsigned), stream);
  lstm_all<<<hidden / kUnitsPerGroup, kThreads, 0, stream>>>(pre, u, h, c, y, counter, steps, batch, hidden);
  return hipGetLastError() == hipSuccess ? 0 : 1;
}
