#include <hip/hip_runtime.h>

__global__ void scale(float* x, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    float v = x[i];
    v = v * a + 1.f;
    x[i] = v * v;
  }
}

extern "C" int kgen_run(void*, const void*) {
  hipLaunchKernelGGL(scale, dim3(64), dim3(256), 0, 0, nullptr, 2.f, 1 << 20);
  return 0;
}
