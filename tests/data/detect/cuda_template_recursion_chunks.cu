template <int N>
__device__ float unroll(const float* x, float h) {
  if constexpr (N == 0) return h;
  else return unroll<N - 1>(x + 1, tanhf(0.5f * h + x[0]));
}
__global__ void k(const float* x, float* y, int T) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float h = 0;
  for (int t = 0; t < T; t += 8) h = unroll<8>(x + i * T + t, h);
  y[i] = h;
}
void run(const float* x, float* y, int T) { k<<<4, 256>>>(x, y, T); }
