__global__ void prefix(const float* x, float* y, int n) {
  __shared__ float s[512];
  float base = 0.f;
  for (int start = 0; start < n; start += 512) {
    const int i = start + threadIdx.x;
    s[threadIdx.x] = i < n ? x[blockIdx.x * n + i] : 0.f;
    __syncthreads();
    for (int d = 1; d < 512; d <<= 1) {
      const float v = threadIdx.x >= d ? s[threadIdx.x - d] : 0.f;
      __syncthreads();
      s[threadIdx.x] += v;
      __syncthreads();
    }
    if (i < n) y[blockIdx.x * n + i] = base + s[threadIdx.x];
    base += s[511];
    __syncthreads();
  }
}

void run(const float* x, float* y, int rows, int n) { prefix<<<rows, 512>>>(x, y, n); }
