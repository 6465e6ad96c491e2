/* max(x, 0), elementwise. NaN stays NaN, as in torch. */
#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  const struct kgen_tensor* x = kgen_find(&args->inputs, "x");
  const struct kgen_tensor* y = kgen_find(&args->outputs, "output");
  (void)result;
  if (x == NULL || y == NULL) return kgen_fail(&args->error, "x or output is missing");
  if (!kgen_is(x, KGEN_FLOAT32, x->rank) || !kgen_is(y, KGEN_FLOAT32, x->rank)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32");
  }
  return 0;
}

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* input = kgen_find(&args->inputs, "x");
  const float* x = input->data;
  float* y = kgen_find(&args->outputs, "output")->data;
  (void)state;
  for (uint64_t i = 0; i < input->element_count; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }
