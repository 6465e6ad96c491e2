#include <hip/hip_runtime.h>

// Causal linear attention with a decay per head. A workgroup owns one head of one sample; thread j owns column j of the
// d x d state and keeps it in registers.
template <int D>
__global__ __launch_bounds__(D) void retention(const float* __restrict__ q, const float* __restrict__ k,
                                               const float* __restrict__ v, const float* __restrict__ decay,
                                               float* __restrict__ o, int length, int heads) {
  __shared__ float qs[D], ks[D];
  const int bh = blockIdx.x;
  const int j = threadIdx.x;
  const float gamma = decay[bh % heads];
  float state[D];
#pragma unroll
  for (int i = 0; i < D; ++i) state[i] = 0.f;
  const size_t base = static_cast<size_t>(bh) * length * D;
  for (int t = 0; t < length; ++t) {
    qs[j] = q[base + t * D + j];
    ks[j] = k[base + t * D + j];
    const float vj = v[base + t * D + j];
    __syncthreads();
    float y = 0.f;
#pragma unroll
    for (int i = 0; i < D; ++i) {
      state[i] = gamma * state[i] + ks[i] * vj;
      y += qs[i] * state[i];
    }
    o[base + t * D + j] = y;
    __syncthreads();
  }
}

void run_retention(const float* q, const float* k, const float* v, const float* decay, float* o, int batch, int heads,
                   int length, hipStream_t stream) {
  retention<64><<<dim3(batch * heads), dim3(64), 0, stream>>>(q, k, v, decay, o, length, heads);
}
