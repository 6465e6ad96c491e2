// expect: cxx.syntax
// tools: gcc clang
#include <math.h>
#include <stdint.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) { return 0; }

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* x = kgen_find(&args->inputs, "x");
  const struct kgen_tensor* out = kgen_find(&args->outputs, "output");
  const float* in = x->data;
  float* y = out->data;
  const int64_t n = (int64_t)x->element_count;
  y[0] = in[0]
  y[1] = in[n - 1];
  return 0;
}

KGEN_API void kgen_destroy(void* state) {}
