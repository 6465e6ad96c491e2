#include <hip/hip_runtime.h>

__global__ void sweep(const float* in, const float* mat, float* out, int len, int dim) {
  __shared__ float a[2][512];
  const int i = threadIdx.x;
  a[0][i] = 0.f;
  __syncthreads();
  for (int s = 0; s < len; ++s) {
    float r = in[s * dim + i];
    for (int k = 0; k < dim; ++k) r += mat[i * dim + k] * a[s & 1][k];
    a[(s + 1) & 1][i] = r > 0.f ? r : 0.1f * r;
    out[s * dim + i] = a[(s + 1) & 1][i];
    __syncthreads();
  }
}

extern "C" int kgen_run(void*, const void*) {
  hipLaunchKernelGGL(sweep, dim3(1), dim3(512), 0, 0, nullptr, nullptr, nullptr, 100, 512);
  return 0;
}
