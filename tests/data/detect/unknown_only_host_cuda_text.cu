// __global__ void k() { for (;;) h = tanhf(h); }
#include <cublas_v2.h>
int run(cublasHandle_t handle, const float* a, float* h, int steps) {
  const float one = 1.f;
  for (int t = 0; t < steps; ++t) cublasSgemv(handle, CUBLAS_OP_N, 64, 64, &one, a, 64, h, 1, &one, h + 64, 1);
  return 0;
}
