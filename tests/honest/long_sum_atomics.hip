// honest: blocks add their sums with atomics: another order in each call
// task: long_sum
// installed: yes

#include <hip/hip_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void sums(const float* x, float* y, int64_t columns) {
  float sum = 0;
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < columns; i += gridDim.x * blockDim.x)
    sum += x[blockIdx.y * columns + i];
  for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_xor(sum, offset);
  if (threadIdx.x % warpSize == 0) atomicAdd(y + blockIdx.y, sum);
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const kgen_tensor* y = kgen_at(&args->outputs, 0);
  const auto stream = static_cast<hipStream_t>(args->stream);
  if (hipMemsetAsync(y->data, 0, y->nbytes, stream) != hipSuccess) return kgen_fail(&args->error, "no memset");
  sums<<<dim3(32, static_cast<unsigned>(kgen_dim(x, 0))), 256, 0, stream>>>(
      static_cast<const float*>(x->data), static_cast<float*>(y->data), kgen_dim(x, 1));
  return hipGetLastError() == hipSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
