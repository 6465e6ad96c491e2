// expect: cxx.undeclared
// tools: g++ clang++
#include <cstdint>
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
  const kgen_tensor* in = kgen_find(&args->inputs, "x");
  const float* x = static_cast<const float*>(in->data);
  float* y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  const int64_t n = static_cast<int64_t>(in->element_count);
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = 0.5f * x[i] * (1.0f + std::erf(x[i] * 0.70710678f));
  return 0;
}
