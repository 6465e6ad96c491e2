// expect: cxx.const
// tools: hipcc
#include <hip/hip_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void clamp(const float* x, float* y, float lo, float hi, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fminf(fmaxf(x[i], lo), hi);
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  kgen_tensor* x = kgen_find(&args->inputs, "x");
  kgen_tensor* y = kgen_find(&args->outputs, "output");
  int n = (int)x->element_count;
  clamp<<<(n + 255) / 256, 256, 0, (hipStream_t)args->stream>>>((float*)x->data, (float*)y->data, -1.f, 1.f, n);
  return 0;
}
