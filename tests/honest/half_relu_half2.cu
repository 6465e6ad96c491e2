// honest: two float16 values at once
// task: half_relu

#include <cuda_fp16.h>

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void relu(const __half2* x, __half2* y, int64_t pairs) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < pairs) y[i] = __hmax2(x[i], __float2half2_rn(0));
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto pairs = static_cast<int64_t>(input->element_count / 2);
  if (input->element_count % 2 != 0) return kgen_fail(&args->error, "an odd number of elements");
  relu<<<static_cast<unsigned>((pairs + 255) / 256), 256, 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const __half2*>(input->data), static_cast<__half2*>(kgen_at(&args->outputs, 0)->data), pairs);
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
