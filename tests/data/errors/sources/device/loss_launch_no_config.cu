// expect: device.launch_syntax
// tools: nvcc hipcc
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void mse_kernel(const float* a, const float* b, float* out, int n) {
  float acc = 0.f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) acc += (a[i] - b[i]) * (a[i] - b[i]);
  atomicAdd(out, acc / n);
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  const kgen_tensor* p = kgen_find(&args->inputs, "predictions");
  const kgen_tensor* t = kgen_find(&args->inputs, "targets");
  float* out = (float*)kgen_find(&args->outputs, "output")->data;
  mse_kernel((const float*)p->data, (const float*)t->data, out, (int)p->element_count);
  return 0;
}
