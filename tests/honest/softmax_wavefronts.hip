// honest: one wavefront for each row, of either size, values in registers, shuffles
// task: softmax
// installed: yes

#include <hip/hip_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
constexpr int k_most_columns = 1024;

__global__ void softmax(const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += static_cast<int64_t>(row) * columns;
  y += static_cast<int64_t>(row) * columns;
  float values[k_most_columns / 32];
  float maximum = -INFINITY, sum = 0;
  for (int i = 0, column = threadIdx.x; column < columns; ++i, column += warpSize) {
    values[i] = x[column];
    maximum = fmaxf(maximum, values[i]);
  }
  for (int offset = warpSize / 2; offset > 0; offset /= 2) maximum = fmaxf(maximum, __shfl_xor(maximum, offset));
  for (int i = 0, column = threadIdx.x; column < columns; ++i, column += warpSize)
    sum += values[i] = expf(values[i] - maximum);
  for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_xor(sum, offset);
  for (int i = 0, column = threadIdx.x; column < columns; ++i, column += warpSize) y[column] = values[i] / sum;
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const int rows = static_cast<int>(kgen_dim(x, 0)), columns = static_cast<int>(kgen_dim(x, 1));
  if (columns > k_most_columns) return kgen_fail(&args->error, "a row is too long");
  int device = 0, lanes = 0;
  if (hipGetDevice(&device) != hipSuccess ||
      hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, device) != hipSuccess)
    return kgen_fail(&args->error, "the device does not tell its wavefront");
  const dim3 block(static_cast<unsigned>(lanes), 4);
  softmax<<<static_cast<unsigned>((rows + 3) / 4), block, 0, static_cast<hipStream_t>(args->stream)>>>(
      static_cast<const float*>(x->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data), rows, columns);
  return hipGetLastError() == hipSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
