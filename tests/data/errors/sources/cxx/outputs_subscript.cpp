// expect: cxx.operands
// tools: g++ clang++
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
  const float* x = (const float*)args->inputs[0].data;
  float* y = (float*)args->outputs[0].data;
  const int64_t n = args->inputs[0].element_count;
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0.1f * x[i];
  return 0;
}
