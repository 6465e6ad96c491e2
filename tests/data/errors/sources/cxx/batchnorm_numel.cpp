// expect: cxx.no_member
// tools: g++ clang++
#include <cmath>
#include <vector>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor& x = *kgen_find(&args->inputs, "x");
  const float* mean = (const float*)kgen_find(&args->buffers, "bn.running_mean")->data;
  float* y = (float*)kgen_find(&args->outputs, "output")->data;
  const int64_t c = kgen_dim(&x, 1), inner = x.numel / (kgen_dim(&x, 0) * c);
  for (int64_t i = 0; i < x.numel; ++i) y[i] = ((const float*)x.data)[i] - mean[(i / inner) % c];
  return 0;
}
