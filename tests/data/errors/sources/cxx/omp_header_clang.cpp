// expect: cxx.missing_header
// tools: clang++
#include <omp.h>
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
  omp_set_num_threads(args->threads);
  const kgen_tensor* t = kgen_at(&args->inputs, 0);
  float* y = (float*)kgen_at(&args->outputs, 0)->data;
#pragma omp parallel for simd
  for (int64_t i = 0; i < (int64_t)t->element_count; ++i) y[i] = ((const float*)t->data)[i] * 2.f;
  return 0;
}
