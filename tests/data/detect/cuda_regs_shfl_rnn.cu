__global__ void warp_rnn(const float* __restrict__ xs, const float* __restrict__ W, float* __restrict__ ys, int T, int B) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  if (warp >= B) return;
  float row[32];
  #pragma unroll
  for (int i = 0; i < 32; i++) row[i] = W[lane * 32 + i];
  float state = 0;
  const float* p = xs + (size_t)warp * T * 32 + lane;
  float* q = ys + (size_t)warp * T * 32 + lane;
  while (T-- > 0) {
    float s = *p;
    #pragma unroll
    for (int i = 0; i < 32; i++) s += row[i] * __shfl_sync(0xffffffff, state, i);
    state = tanhf(s);
    *q = state;
    p += 32;
    q += 32;
  }
}
extern "C" void go(const float* x, const float* w, float* y, int T, int B, cudaStream_t st) {
  dim3 block(128);
  dim3 grid((B * 32 + 127) / 128);
  warp_rnn<<<grid, block, 0, st>>>(x, w, y, T, B);
}
