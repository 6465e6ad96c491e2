// attack: H41 ends the process while it is loaded
// task: relu
// expect: crash:exit 0

#include <stdlib.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

__attribute__((constructor)) static void leave() { _Exit(0); }
KGEN_API int kgen_run(void*, const kgen_run_args*) { return 0; }
