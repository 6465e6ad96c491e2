// expect: cxx.other
// tools: g++ clang++
#include <stdlib.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  int status = 1;
  float* buffer = (float*)malloc(1 << 20);
  if (buffer == NULL) goto cleanup;
  const struct kgen_tensor* w = kgen_find(&args->parameters, "fc.weight");
  if (w == NULL) goto cleanup;
  const int64_t rows = kgen_dim(w, 0);
  for (int64_t r = 0; r < rows; ++r) buffer[r] = ((const float*)w->data)[r * kgen_dim(w, 1)];
  result->state = buffer;
  status = 0;
cleanup:
  if (status) free(buffer);
  return status;
}
KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) { (void)state; (void)args; return 0; }
KGEN_API void kgen_destroy(void* state) { free(state); }
