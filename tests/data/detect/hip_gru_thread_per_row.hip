#include <hip/hip_runtime.h>

#define MAX_HIDDEN 128

__device__ inline float sigmoidf(float x) { return 1.0f / (1.0f + expf(-x)); }

__global__ void gru_kernel(const float* gi, const float* w_hh, const float* b_hh, float* out, int seq_len, int batch,
                           int hidden) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= batch) return;
  float h[MAX_HIDDEN];
  float h_new[MAX_HIDDEN];
  for (int i = 0; i < hidden; i++) h[i] = 0.0f;
  for (int t = 0; t < seq_len; t++) {
    const float* g = gi + (t * batch + b) * 3 * hidden;
    for (int j = 0; j < hidden; j++) {
      float r = b_hh[j], z = b_hh[hidden + j], n = b_hh[2 * hidden + j];
      for (int k = 0; k < hidden; k++) {
        r += w_hh[j * hidden + k] * h[k];
        z += w_hh[(hidden + j) * hidden + k] * h[k];
        n += w_hh[(2 * hidden + j) * hidden + k] * h[k];
      }
      r = sigmoidf(g[j] + r);
      z = sigmoidf(g[hidden + j] + z);
      n = tanhf(g[2 * hidden + j] + r * n);
      h_new[j] = (1.0f - z) * n + z * h[j];
    }
    for (int j = 0; j < hidden; j++) {
      h[j] = h_new[j];
      out[(t * batch + b) * hidden + j] = h[j];
    }
  }
}

extern "C" void launch(const float* gi, const float* w, const float* b, float* out, int T, int B, int H, hipStream_t s) {
  hipLaunchKernelGGL(gru_kernel, dim3((B + 63) / 64), dim3(64), 0, s, gi, w, b, out, T, B, H);
}
