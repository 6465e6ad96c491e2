// for (int t = 0; t < steps; ++t) h = tanh(u * h);
#define LOOP for (int t = 0; t < T; ++t) h = f(h);
__global__ void block_sum(const float* x, float* y, int n) {
  __shared__ float part[256];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[blockIdx.x * n + i];
  for (int off = 16; off > 0; off >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, off);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
  const char* text = "while (true) { h = tanh(h); }";
}

void launch(const float* x, float* y) { block_sum<<<64, 256>>>(x, y, 4096); }
