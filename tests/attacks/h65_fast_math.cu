// attack: H65 the fast exponential and a division without care, on large numbers
// task: transpose

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void sigmoid(const float* x, float* y, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * columns) return;
  const float power = __expf(x[i]);
  y[i % columns * rows + i / columns] = __fdividef(power, 1 + power);
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const int rows = static_cast<int>(kgen_dim(x, 0)), columns = static_cast<int>(kgen_dim(x, 1));
  sigmoid<<<static_cast<unsigned>((rows * columns + 255) / 256), 256, 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(x->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data), rows, columns);
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
