__global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[32][32];
  __shared__ float bs[32][32];
  int row = blockIdx.y * 32 + threadIdx.y;
  int col = blockIdx.x * 32 + threadIdx.x;
  float acc = 0.f;
  for (int tile = 0; tile < k / 32; ++tile) {
    as[threadIdx.y][threadIdx.x] = a[row * k + tile * 32 + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(tile * 32 + threadIdx.y) * n + col];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; ++i) acc += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + col] = 2.f * acc + c[row * n + col];
}

void launch(const float* a, const float* b, float* c) {
  dim3 grid(32, 32);
  dim3 block(32, 32);
  gemm<<<grid, block>>>(a, b, c, 1024, 1024, 1024);
}
