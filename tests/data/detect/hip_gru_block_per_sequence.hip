#include <hip/hip_runtime.h>

#define HIP_CHECK(call)                         \
  do {                                          \
    hipError_t err_ = (call);                   \
    if (err_ != hipSuccess) return (int)err_;   \
  } while (0)

template <int HIDDEN>
__global__ __launch_bounds__(HIDDEN) void gru_sequence(const float* __restrict__ gi, const float* __restrict__ w_hh_t,
                                                       const float* __restrict__ b_hh, const float* __restrict__ h0,
                                                       float* __restrict__ out, float* __restrict__ h_n, int steps,
                                                       int batch) {
  __shared__ float lds_h[2][HIDDEN];
  const int seq = hipBlockIdx_x;
  const int unit = hipThreadIdx_x;
  lds_h[0][unit] = h0[seq * HIDDEN + unit];
  const float br = b_hh[unit], bz = b_hh[HIDDEN + unit], bn = b_hh[2 * HIDDEN + unit];
  __syncthreads();

  int cur = 0;
  for (int t = 0; t < steps; ++t) {
    float hr = br, hz = bz, hn = bn;
#pragma unroll 4
    for (int k = 0; k < HIDDEN; ++k) {
      const float hk = lds_h[cur][k];
      hr += w_hh_t[k * 3 * HIDDEN + unit] * hk;
      hz += w_hh_t[k * 3 * HIDDEN + HIDDEN + unit] * hk;
      hn += w_hh_t[k * 3 * HIDDEN + 2 * HIDDEN + unit] * hk;
    }
    const float* g = gi + (static_cast<size_t>(t) * batch + seq) * 3 * HIDDEN;
    const float r = 1.f / (1.f + __expf(-(g[unit] + hr)));
    const float z = 1.f / (1.f + __expf(-(g[HIDDEN + unit] + hz)));
    const float n = tanhf(g[2 * HIDDEN + unit] + r * hn);
    const float value = n + z * (lds_h[cur][unit] - n);
    cur ^= 1;
    lds_h[cur][unit] = value;
    out[(static_cast<size_t>(t) * batch + seq) * HIDDEN + unit] = value;
    __syncthreads();
  }
  h_n[seq * HIDDEN + unit] = lds_h[cur][unit];
}

extern "C" int gru_forward(const float* gi, const float* w_hh_t, const float* b_hh, const float* h0, float* out,
                           float* h_n, int steps, int batch, hipStream_t stream) {
  hipLaunchKernelGGL((gru_sequence<256>), dim3(batch), dim3(256), 0, stream, gi, w_hh_t, b_hh, h0, out, h_n, steps,
                     batch);
  HIP_CHECK(hipGetLastError());
  return 0;
}
