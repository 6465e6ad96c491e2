/* Honest: uses a state, a workspace, a scalar and an absent argument, and finds everything as the ABI promises it. */
#include <stdlib.h>

#include "common.h"

struct state {
  uint64_t count;
};

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  const struct kgen_tensor* x = kgen_find(&args->inputs, "x");
  const struct kgen_tensor* w = kgen_find(&args->parameters, "layer.w");
  const struct kgen_tensor* y = kgen_find(&args->outputs, "y");
  if (!kgen_is(x, KGEN_FLOAT32, 1) || !kgen_is(w, KGEN_FLOAT32, 1) || !kgen_is(y, KGEN_FLOAT32, 1)) {
    return kgen_fail(&args->error, "a tensor is missing");
  }
  if (x->data != NULL || y->data != NULL || w->data == NULL) return kgen_fail(&args->error, "wrong data in prepare");
  if (kgen_number(&args->init_scalars, "scale", 0) != 0.5) return kgen_fail(&args->error, "scale is not 0.5");
  if (kgen_integer(&args->init_scalars, "n", 0) != (int64_t)x->element_count) return kgen_fail(&args->error, "wrong n");
  if (kgen_find_scalar(&args->scalars, "mask")->kind != KGEN_SCALAR_NONE) return kgen_fail(&args->error, "no mask");
  if (strcmp(kgen_find_scalar(&args->scalars, "mode")->as_text, "two words") != 0)
    return kgen_fail(&args->error, "mode");
  struct state* state = malloc(sizeof *state);
  if (state == NULL) return kgen_fail(&args->error, "out of memory");
  state->count = x->element_count;
  result->state = state;
  result->workspace_bytes = x->nbytes;
  return 0;
}

KGEN_API int kgen_run(void* opaque, const struct kgen_run_args* args) {
  const struct state* state = opaque;
  float* scratch = args->workspace;
  if (args->workspace_bytes != state->count * sizeof(float)) return kgen_fail(&args->error, "wrong workspace");
  if ((uintptr_t)scratch % KGEN_ALIGNMENT != 0) return kgen_fail(&args->error, "workspace is not aligned");
  const float* w = kgen_find(&args->parameters, "layer.w")->data;
  for (uint64_t i = 0; i < state->count; ++i) scratch[i] = input_x(args)[i] * w[i];
  memcpy(output_y(args), scratch, args->workspace_bytes);
  return 0;
}

KGEN_API void kgen_destroy(void* state) { free(state); }
