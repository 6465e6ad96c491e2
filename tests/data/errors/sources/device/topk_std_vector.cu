// expect: device.host_function
// tools: nvcc
#include <cuda_runtime.h>
#include <algorithm>
#include <vector>
#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

// Top-k over each row, k <= 64. Small rows, so one thread per row.
__global__ void topk_rows(const float* x, float* y, int cols, int k) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float local[256];
  for (int i = 0; i < cols; ++i) local[i] = x[row * cols + i];
  std::vector<float> best(local, local + cols);
  std::sort(best.begin(), best.end());
  for (int i = 0; i < k; ++i) y[row * k + i] = best[cols - 1 - i];
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
