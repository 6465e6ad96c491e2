#include <hip/hip_runtime.h>

__global__ void lstm_cell_kernel(const float* __restrict__ below, const float* __restrict__ w_ih,
                                 const float* __restrict__ w_hh, const float* __restrict__ bias,
                                 const float* __restrict__ h_prev, float* __restrict__ h_out, float* __restrict__ c,
                                 int hidden) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  const int b = blockIdx.y;
  if (j >= hidden) return;
  float g[4];
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    float acc = bias[q * hidden + j];
    for (int k = 0; k < hidden; ++k)
      acc += w_ih[(size_t)(q * hidden + j) * hidden + k] * below[b * hidden + k] +
             w_hh[(size_t)(q * hidden + j) * hidden + k] * h_prev[b * hidden + k];
    g[q] = acc;
  }
  const float i = 1.f / (1.f + expf(-g[0]));
  const float f = 1.f / (1.f + expf(-g[1]));
  const float o = 1.f / (1.f + expf(-g[3]));
  c[b * hidden + j] = f * c[b * hidden + j] + i * tanhf(g[2]);
  h_out[b * hidden + j] = o * tanhf(c[b * hidden + j]);
}

// Cells on one diagonal of the (layer, step) table are independent: each gets a stream of its own.
int lstm_stack(const float* x, const float* const* w_ih, const float* const* w_hh, const float* const* bias, float* seq,
               float* cells, int layers, int steps, int batch, int hidden, hipStream_t* streams) {
  const size_t step_size = (size_t)batch * hidden;
  const dim3 grid((hidden + 127) / 128, batch);
  for (int d = 0; d < layers + steps - 1; ++d) {
    for (int l = 0; l < layers; ++l) {
      const int t = d - l;
      if (t < 0 || t >= steps) continue;
      float* layer_seq = seq + (size_t)l * (steps + 1) * step_size;
      const float* below = l == 0 ? x + t * step_size : seq + ((size_t)(l - 1) * (steps + 1) + t + 1) * step_size;
      hipLaunchKernelGGL(lstm_cell_kernel, grid, dim3(128), 0, streams[l], below, w_ih[l], w_hh[l], bias[l],
                         layer_seq + t * step_size, layer_seq + (t + 1) * step_size, cells + l * step_size, hidden);
    }
    for (int l = 0; l < layers; ++l) hipStreamSynchronize(streams[l]);
  }
  return 0;
}
