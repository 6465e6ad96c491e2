#include <cuda_runtime.h>

// Backward pass through time of a small LSTM; everything fits into one block.
__global__ void lstm_backward(const float* __restrict__ gates, const float* __restrict__ cells,
                              const float* __restrict__ grad_out, const float* __restrict__ w_hh,
                              float* __restrict__ grad_gates, int T, int H) {
  extern __shared__ float sh[];
  float* dg = sh;           // 4H
  float* dh_next = sh + 4 * H;  // H
  const int j = threadIdx.x;
  float dc_next = 0.f;
  dh_next[j] = 0.f;
  __syncthreads();
  for (int t = T - 1; t >= 0; --t) {
    const float* g = gates + (size_t)t * 4 * H;
    const float i = g[j], f = g[H + j], u = g[2 * H + j], o = g[3 * H + j];
    const float c = cells[(size_t)(t + 1) * H + j];
    const float c_prev = cells[(size_t)t * H + j];
    const float tc = tanhf(c);
    const float dh = grad_out[(size_t)t * H + j] + dh_next[j];
    const float d_o = dh * tc * o * (1.f - o);
    const float dc = dh * o * (1.f - tc * tc) + dc_next;
    const float d_i = dc * u * i * (1.f - i);
    const float d_f = dc * c_prev * f * (1.f - f);
    const float d_u = dc * i * (1.f - u * u);
    dc_next = dc * f;
    dg[j] = d_i;
    dg[H + j] = d_f;
    dg[2 * H + j] = d_u;
    dg[3 * H + j] = d_o;
    __syncthreads();
    float acc = 0.f;
    for (int k = 0; k < 4 * H; ++k) acc += dg[k] * w_hh[(size_t)k * H + j];
    dh_next[j] = acc;
    for (int q = 0; q < 4; ++q) grad_gates[(size_t)t * 4 * H + q * H + j] = dg[q * H + j];
    __syncthreads();
  }
}

void backward(const float* gates, const float* cells, const float* grad_out, const float* w_hh, float* grad_gates, int T,
              int H, cudaStream_t stream) {
  const size_t bytes = 5 * H * sizeof(float);
  lstm_backward<<<1, H, bytes, stream>>>(gates, cells, grad_out, w_hh, grad_gates, T, H);
}
