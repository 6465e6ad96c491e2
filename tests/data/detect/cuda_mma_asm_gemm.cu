#include <cstdint>

__device__ inline void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__global__ void gemm(const uint32_t* A, const uint32_t* B, float* C, int K) {
  float acc[4] = {0.f, 0.f, 0.f, 0.f};
  uint32_t a[4], b[2];
  for (int k = 0; k < K / 16; ++k) {
    for (int i = 0; i < 4; ++i) a[i] = A[(blockIdx.x * K + k) * 128 + i * 32 + threadIdx.x];
    for (int i = 0; i < 2; ++i) b[i] = B[(blockIdx.y * K + k) * 64 + i * 32 + threadIdx.x];
    mma(acc, a, b);
  }
  for (int i = 0; i < 4; ++i) C[(blockIdx.x * gridDim.y + blockIdx.y) * 128 + i * 32 + threadIdx.x] = acc[i];
}

void run(const uint32_t* a, const uint32_t* b, float* c) { gemm<<<dim3(64, 128), 32>>>(a, b, c, 1024); }
