// expect: cxx.openmp
// tools: g++
#include <cmath>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

struct Moments { double sum = 0, squares = 0; };

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* t = kgen_at(&args->inputs, 0);
  const float* x = (const float*)t->data;
  Moments m;
#pragma omp parallel for reduction(+ : m)
  for (int64_t i = 0; i < (int64_t)t->element_count; ++i) { m.sum += x[i]; m.squares += (double)x[i] * x[i]; }
  *(float*)kgen_at(&args->outputs, 0)->data = (float)(m.squares / t->element_count - std::pow(m.sum / t->element_count, 2));
  return 0;
}
