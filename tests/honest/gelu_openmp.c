// honest: OpenMP and SIMD in C
// task: gelu

#include <math.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  (void)args;
  (void)result;
  return 0;
}
KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* input = kgen_at(&args->inputs, 0);
  const float* x = input->data;
  float* y = kgen_at(&args->outputs, 0)->data;
  const int64_t count = (int64_t)input->element_count;
  (void)state;
#pragma omp parallel for
  for (int64_t i = 0; i < count; ++i) y[i] = 0.5F * x[i] * (1 + erff(x[i] * 0.70710678F));
  return 0;
}
