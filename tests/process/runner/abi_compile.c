/* Compiled as C99 and C11, with every warning an error. */
#include <kernelgen/abi.h>
#include <kernelgen/abi.h> /* may be included twice */

#define KGEN_TEST_ASSERT(name, condition) typedef char kgen_test_##name[(condition) ? 1 : -1]
#include "abi_layout.inc"

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  result->workspace_bytes = KGEN_HAS_FIELD(args, struct kgen_prepare_args, stream) ? 64 : 0;
  return 0;
}

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  (void)state;
  return kgen_fail(&args->error, "nothing to run");
}

KGEN_API void kgen_destroy(void* state) { (void)state; }
