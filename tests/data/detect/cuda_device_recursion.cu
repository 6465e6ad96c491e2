__device__ void steps(const float* x, float* h, float* y, int t, int T, int H, int j) {
  if (t == T) return;
  float s = x[t * H + j] + 0.5f * h[(j + 1) % H];
  __syncthreads();
  h[j] = tanhf(s);
  __syncthreads();
  y[t * H + j] = h[j];
  steps(x, h, y, t + 1, T, H, j);
}
__global__ void k(const float* x, float* y, int T, int H) {
  __shared__ float h[256];
  h[threadIdx.x] = 0;
  __syncthreads();
  steps(x, h, y, 0, T, H, threadIdx.x);
}
void run(const float* x, float* y, int T, int H) { k<<<2, 256>>>(x, y, T, H); }
