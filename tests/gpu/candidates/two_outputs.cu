// Both results, right.
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

__global__ void both(const float* x, float* relu, float* twice, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  relu[i] = x[i] < 0.0f ? 0.0f : x[i];
  twice[i] = 2.0f * x[i];
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const auto count = static_cast<int64_t>(x->element_count);
  both<<<static_cast<unsigned>((count + 255) / 256), 256, 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(x->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data),
      static_cast<float*>(kgen_at(&args->outputs, 1)->data), count);
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}

KGEN_API void kgen_destroy(void*) {}
