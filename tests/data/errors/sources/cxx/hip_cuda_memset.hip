// expect: cxx.undeclared
// tools: hipcc
#include <hip/hip_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void kl_div(const float* p, const float* q, float* out, int n) {
  float s = 0.f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += q[i] * (logf(q[i]) - p[i]);
  atomicAdd(out, s);
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  hipStream_t stream = (hipStream_t)args->stream;
  float* out = (float*)kgen_find(&args->outputs, "output")->data;
  cudaMemsetAsync(out, 0, sizeof(float), stream);
  const kgen_tensor* p = kgen_find(&args->inputs, "input");
  const kgen_tensor* q = kgen_find(&args->inputs, "target");
  kl_div<<<120, 256, 0, stream>>>((const float*)p->data, (const float*)q->data, out, (int)p->element_count);
  return 0;
}
