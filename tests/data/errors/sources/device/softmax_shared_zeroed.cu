// expect: device.shared_initializer
// tools: nvcc
#include <cuda_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void column_softmax(const float* x, float* y, int rows, int cols) {
  __shared__ float sums[8][32] = {{0.0f}};
  int c = blockIdx.x * 32 + threadIdx.x;
  float s = 0.f;
  if (c < cols)
    for (int r = threadIdx.y; r < rows; r += 8) s += __expf(x[r * cols + c]);
  sums[threadIdx.y][threadIdx.x] += s;
  __syncthreads();
  s = 0.f;
  for (int i = 0; i < 8; ++i) s += sums[i][threadIdx.x];
  if (c < cols)
    for (int r = threadIdx.y; r < rows; r += 8) y[r * cols + c] = __expf(x[r * cols + c]) / s;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
