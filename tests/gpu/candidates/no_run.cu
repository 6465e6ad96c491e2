// Wrong: kgen_run is missing.
#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }

KGEN_API void kgen_destroy(void*) {}
