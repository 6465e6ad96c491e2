#include <hip/hip_runtime.h>
typedef float floatx16 __attribute__((ext_vector_type(16)));

__global__ void gemm(const float* a, const float* b, float* c, int k) {
  floatx16 acc = {0};
  for (int i = threadIdx.x / 32; i < k; i += 2) {
    const float x = a[(blockIdx.x * k + i) * 32 + threadIdx.x % 32];
    const float y = b[(blockIdx.y * k + i) * 32 + threadIdx.x % 32];
    acc = __builtin_amdgcn_mfma_f32_32x32x2f32(x, y, acc, 0, 0, 0);
  }
  for (int r = 0; r < 16; ++r) c[(blockIdx.x * gridDim.y + blockIdx.y) * 1024 + r * 64 + threadIdx.x] = acc[r];
}

extern "C" int kgen_run(void*, const void*) {
  gemm<<<dim3(32, 32), 64>>>(nullptr, nullptr, nullptr, 1024);
  return 0;
}
