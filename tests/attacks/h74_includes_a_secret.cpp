// attack: H74 includes a file of the machine in the hope that the compiler shows it
// task: relu
// expect: compile:*, accuracy:*

#include "/proc/self/environ"

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args*) { return 0; }
