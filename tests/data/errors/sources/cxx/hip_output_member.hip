// expect: cxx.no_member
// tools: hipcc
#include <hip/hip_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void mish(const float* x, float* y, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    y[i] = x[i] * tanhf(log1pf(expf(x[i])));
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* y = kgen_at(&args->output, 0);
  mish<<<240, 256, 0, static_cast<hipStream_t>(args->stream)>>>(static_cast<const float*>(x->data), static_cast<float*>(y->data), x->element_count);
  return 0;
}
