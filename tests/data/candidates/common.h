/* What the small candidates of the tests share: y = x * w elementwise is the honest answer. */
#ifndef KERNELGEN_TEST_CANDIDATE_H
#define KERNELGEN_TEST_CANDIDATE_H

#include <kernelgen/abi.h>

static inline float* output_y(const struct kgen_run_args* args) { return (float*)kgen_find(&args->outputs, "y")->data; }
static inline const float* input_x(const struct kgen_run_args* args) {
  return (const float*)kgen_find(&args->inputs, "x")->data;
}

static inline void compute(const struct kgen_run_args* args) {
  const struct kgen_tensor* y = kgen_find(&args->outputs, "y");
  const float* w = (const float*)kgen_find(&args->parameters, "layer.w")->data;
  for (uint64_t i = 0; i < y->element_count; ++i) ((float*)y->data)[i] = input_x(args)[i] * w[i];
}

#define PLAIN_PREPARE                                                                                   \
  KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) { \
    (void)args;                                                                                         \
    (void)result;                                                                                       \
    return 0;                                                                                           \
  }
#define PLAIN_DESTROY \
  KGEN_API void kgen_destroy(void* state) { (void)state; }
/* Everything but kgen_run. */
#define PLAIN_REST        \
  KGEN_EXPORT_ABI_VERSION \
  PLAIN_PREPARE           \
  PLAIN_DESTROY
/* The head of kgen_run. */
#define RUN KGEN_API int kgen_run(void* state, const struct kgen_run_args* args)
#define UNUSED_STATE (void)state

#endif
