#include <hip/hip_runtime.h>

__device__ inline float wave_sum(float v) {
  for (int mask = warpSize / 2; mask > 0; mask /= 2) v += __shfl_xor(v, mask);
  return v;
}

template <int BLOCK, int ITEMS>
__global__ __launch_bounds__(BLOCK) void add_layernorm(const float* __restrict__ x, float* __restrict__ residual,
                                                       const float* __restrict__ gamma, const float* __restrict__ beta,
                                                       float* __restrict__ y, int cols, float eps) {
  __shared__ float shared[2][BLOCK / 64 + 1];
  const size_t base = static_cast<size_t>(blockIdx.x) * cols;
  float v[ITEMS];
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    const int c = i * BLOCK + threadIdx.x;
    v[i] = 0.f;
    if (c < cols) {
      v[i] = x[base + c] + residual[base + c];
      residual[base + c] = v[i];
    }
    sum += v[i];
  }
  sum = wave_sum(sum);
  if (threadIdx.x % 64 == 0) shared[0][threadIdx.x / 64] = sum;
  __syncthreads();
  float mean = 0.f;
  for (int w = 0; w < BLOCK / 64; ++w) mean += shared[0][w];
  mean /= cols;
  float var = 0.f;
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    const float d = i * BLOCK + threadIdx.x < cols ? v[i] - mean : 0.f;
    var += d * d;
  }
  var = wave_sum(var);
  if (threadIdx.x % 64 == 0) shared[1][threadIdx.x / 64] = var;
  __syncthreads();
  var = 0.f;
  for (int w = 0; w < BLOCK / 64; ++w) var += shared[1][w];
  const float rstd = rsqrtf(var / cols + eps);
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    const int c = i * BLOCK + threadIdx.x;
    if (c < cols) y[base + c] = (v[i] - mean) * rstd * gamma[c] + beta[c];
  }
}

extern "C" int run(const float* x, float* residual, const float* gamma, const float* beta, float* y, int rows, int cols,
                   hipStream_t stream) {
  hipLaunchKernelGGL((add_layernorm<256, 4>), dim3(rows), dim3(256), 0, stream, x, residual, gamma, beta, y, cols, 1e-5f);
  return hipGetLastError();
}
