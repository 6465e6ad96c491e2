// Compiled as C++11, 17 and 20, with every warning an error.
#include <kernelgen/abi.h>

#define KGEN_TEST_ASSERT(name, condition) static_assert(condition, #name)
#include "abi_layout.inc"

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  result->workspace_bytes = KGEN_HAS_FIELD(args, kgen_prepare_args, stream) ? 64 : 0;
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "nothing to run"); }

KGEN_API void kgen_destroy(void*) {}
