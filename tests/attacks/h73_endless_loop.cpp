// attack: H73 never returns, natively, and ignores signals
// task: relu
// expect: timeout

#include <signal.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args*) {
  for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
  volatile int endless = 1;
  while (endless) {
  }
  return 0;
}
