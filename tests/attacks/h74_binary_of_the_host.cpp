// attack: H74 puts a file of the machine into the object
// task: relu
// expect: compile:*

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

__asm__(".section .rodata\n.incbin \"/etc/shadow\"\n.text\n");
KGEN_API int kgen_run(void*, const kgen_run_args*) { return 0; }
