// expect: cxx.call
// tools: g++ clang++
#include <algorithm>
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
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const float* p = (const float*)x->data;
  float* y = (float*)kgen_at(&args->outputs, 0)->data;
  const int64_t n = kgen_dim(x, -1);
  const int k = 3, pad = 1;
  for (int64_t i = 0; i < n; ++i) {
    float best = p[i];
    for (int64_t j = std::max(0, i - pad); j < std::min(n, i - pad + k); ++j) best = std::max(best, p[j]);
    y[i] = best;
  }
  return 0;
}
