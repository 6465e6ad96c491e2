#include <hip/hip_runtime.h>
#include <algorithm>

__global__ void rnn_step_kernel(const float* __restrict__ xproj, const float* __restrict__ w_hh,
                                const float* __restrict__ h_prev, float* __restrict__ h_next, float* __restrict__ y,
                                int hidden) {
  extern __shared__ float lds[];
  const int row = blockIdx.y;
  for (int k = threadIdx.x; k < hidden; k += blockDim.x) lds[k] = h_prev[row * hidden + k];
  __syncthreads();
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= hidden) return;
  float acc = xproj[row * hidden + j];
  for (int k = 0; k < hidden; ++k) acc += w_hh[(size_t)j * hidden + k] * lds[k];
  const float v = tanhf(acc);
  h_next[row * hidden + j] = v;
  y[row * hidden + j] = v;
}

extern "C" int rnn_forward(const float* xproj, const float* w_hh, float* h_a, float* h_b, float* y, int seq_len,
                           int batch, int hidden, void* stream_ptr) {
  auto stream = static_cast<hipStream_t>(stream_ptr);
  const dim3 block(128);
  const dim3 grid((hidden + 127) / 128, batch);
  const size_t step_elems = static_cast<size_t>(batch) * hidden;
  float* in = h_a;
  float* out = h_b;
  for (int t = 0; t < seq_len; ++t) {
    hipLaunchKernelGGL(rnn_step_kernel, grid, block, hidden * sizeof(float), stream, xproj + t * step_elems, w_hh, in,
                       out, y + t * step_elems, hidden);
    std::swap(in, out);
  }
  return static_cast<int>(hipPeekAtLastError());
}
