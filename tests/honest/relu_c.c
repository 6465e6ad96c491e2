// honest: in C, with restrict
// task: relu

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  (void)args;
  (void)result;
  return 0;
}
KGEN_API void kgen_destroy(void* state) { (void)state; }

static void relu(const float* restrict x, float* restrict y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = x[i] < 0 ? 0 : x[i];
}

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* input = kgen_at(&args->inputs, 0);
  (void)state;
  relu(input->data, kgen_at(&args->outputs, 0)->data, input->element_count);
  return 0;
}
