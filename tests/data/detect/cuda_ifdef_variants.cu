#ifdef USE_SLOW_PATH
__global__ void body(const float* x, float* y, int n) { y[0] = x[0];
#else
__global__ void body(const float* x, float* y, int n) {
#endif
  const int lane = threadIdx.x;
  float best = -1e30f;
  for (int i = lane; i < n; i += 32) best = fmaxf(best, x[blockIdx.x * n + i]);
#pragma unroll
  for (int o = 16; o; o >>= 1) best = fmaxf(best, __shfl_xor_sync(~0u, best, o));
  float sum = 0;
  for (int i = lane; i < n; i += 32) sum += __expf(x[blockIdx.x * n + i] - best);
#pragma unroll
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  for (int i = lane; i < n; i += 32) y[blockIdx.x * n + i] = __expf(x[blockIdx.x * n + i] - best) / sum;
}

void softmax(const float* x, float* y, int rows, int n) { body<<<rows, 32>>>(x, y, n); }
