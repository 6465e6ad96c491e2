#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const struct kgen_prepare_args*, struct kgen_prepare_result*) { return 0; }

KGEN_API int kgen_run(void*, const struct kgen_run_args* args) {
  const struct kgen_tensor* in = kgen_at(&args->inputs, 0);
  const struct kgen_tensor* out = kgen_at(&args->outputs, 0);
  const float* x = (const float*)in->data;
  float* y = (float*)out->data;
  for (uint64_t i = 0; i < in->element_count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
