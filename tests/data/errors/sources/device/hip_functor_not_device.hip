// expect: device.host_function
// tools: hipcc
#include <hip/hip_runtime.h>
#include <functional>
#include <random>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

struct Activation {
  float slope;
  float operator()(float v) const { return v > 0.f ? v : slope * v; }
};

template <typename F>
__global__ void apply(const float* x, float* y, int n, F f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = f(x[i]);
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  int n = (int)x->element_count;
  apply<<<(n + 255) / 256, 256, 0, (hipStream_t)args->stream>>>((const float*)x->data, (float*)kgen_at(&args->outputs, 0)->data, n, Activation{0.01f});
  return 0;
}
