// expect: cxx.conversion
// tools: g++ clang++
#include <stdlib.h>
#include <math.h>
#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

typedef struct { int64_t hidden; float* packed; } lstm_state;

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  const struct kgen_tensor* w = kgen_find(&args->parameters, "lstm.weight_hh_l0");
  lstm_state* s = (lstm_state*)malloc(sizeof(lstm_state));
  s->hidden = kgen_dim(w, 1);
  s->packed = malloc(w->nbytes);
  memcpy(s->packed, w->data, w->nbytes);
  result->state = s;
  return 0;
}
KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) { (void)state; (void)args; return 0; }
KGEN_API void kgen_destroy(void* state) { free(((lstm_state*)state)->packed); free(state); }
