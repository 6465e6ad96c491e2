// Wrong: ends the process, as if all were well.

#include <unistd.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }

KGEN_API int kgen_run(void*, const kgen_run_args*) { _exit(0); }

KGEN_API void kgen_destroy(void*) {}
