// expect: cxx.call
// tools: g++ clang++
#include <cmath>
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
  auto* x = kgen_find(&args->inputs, "x");
  auto* y = kgen_find(&args->outputs, "output");
  const double eps = kgen_number(&args->init_scalars, "eps");
  for (uint64_t i = 0; i < x->element_count; ++i) ((float*)y->data)[i] = ((const float*)x->data)[i] / (float)std::sqrt(1.0 + eps);
  return 0;
}
