// honest: one warp for each row, values in registers, shuffles
// task: softmax

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
constexpr int k_values = 32;

__global__ void softmax(const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += static_cast<int64_t>(row) * columns;
  y += static_cast<int64_t>(row) * columns;
  float values[k_values];
  float maximum = -INFINITY, sum = 0;
  for (int i = 0; i < k_values; ++i) {
    const int column = threadIdx.x + 32 * i;
    values[i] = column < columns ? x[column] : -INFINITY;
    maximum = fmaxf(maximum, values[i]);
  }
  for (int offset = 16; offset > 0; offset /= 2)
    maximum = fmaxf(maximum, __shfl_xor_sync(0xFFFFFFFFu, maximum, offset));
  for (float& value : values) sum += value = expf(value - maximum);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
  for (int i = 0; i < k_values; ++i)
    if (threadIdx.x + 32 * i < columns) y[threadIdx.x + 32 * i] = values[i] / sum;
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const int rows = static_cast<int>(kgen_dim(x, 0)), columns = static_cast<int>(kgen_dim(x, 1));
  if (columns > 32 * k_values) return kgen_fail(&args->error, "a row is too long");
  softmax<<<static_cast<unsigned>((rows + 3) / 4), dim3(32, 4), 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(x->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data), rows, columns);
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
