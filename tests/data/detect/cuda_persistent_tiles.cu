__device__ __forceinline__ void multiply_add(float (&acc)[8], const float* a, const float* b, int k) {
  for (int i = 0; i < 8; ++i) acc[i] += a[k] * b[k * 8 + i];
}

__global__ void persistent_gemm(const float* a, const float* b, float* c, int tiles, int k) {
  float acc[8];
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    for (int i = 0; i < 8; ++i) acc[i] = 0.f;
    for (int kk = 0; kk < k; ++kk) multiply_add(acc, a + tile * k, b, kk);
    for (int i = 0; i < 8; ++i) c[tile * 8 + i] = acc[i];
  }
}

void launch(const float* a, const float* b, float* c) { persistent_gemm<<<132, 256>>>(a, b, c, 4096, 512); }
