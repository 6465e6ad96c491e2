// attack: H11 all threads of a row add to one number without keeping apart
// task: masked_sum

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void sums(const float* x, const float* mask, float* y, int columns) {
  volatile float* sum = y + blockIdx.x;
  if (threadIdx.x == 0) *sum = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    *sum = *sum + x[blockIdx.x * columns + i] * mask[blockIdx.x * columns + i];
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  sums<<<static_cast<unsigned>(kgen_dim(x, 0)), 128, 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(x->data), static_cast<const float*>(kgen_find(&args->inputs, "mask")->data),
      static_cast<float*>(kgen_at(&args->outputs, 0)->data), static_cast<int>(kgen_dim(x, 1)));
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
