// Row sums by a wavefront each, right on an AMD GPU with 64 lanes: refused on NVIDIA, where a shuffle without a width has 32.
#include <hip/hip_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

__global__ void row_sums(const float* x, float* y, int columns) {
  const float* row = x + static_cast<int64_t>(blockIdx.x) * columns;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 64) sum += row[i];
  for (int distance = 32; distance > 0; distance /= 2) sum += __shfl_down(sum, distance);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto stream = static_cast<hipStream_t>(args->stream);
  row_sums<<<static_cast<unsigned>(input->shape[0]), 64, 0, stream>>>(
      static_cast<const float*>(input->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data),
      static_cast<int>(input->shape[1]));
  return hipGetLastError() == hipSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}

KGEN_API void kgen_destroy(void*) {}
