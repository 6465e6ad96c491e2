// attack: H63 C07 computes in half precision
// task: gelu

#include <cuda_fp16.h>

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void gelu(const float* x, float* y, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const __half v = __float2half(x[i]);
  y[i] = 0.5f * __half2float(v) * (1 + erff(__half2float(__hmul(v, __float2half(0.70710678f)))));
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto count = static_cast<int64_t>(input->element_count);
  gelu<<<static_cast<unsigned>((count + 255) / 256), 256, 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(input->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data), count);
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
