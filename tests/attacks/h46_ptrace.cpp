// attack: H46 attaches to the process that started it
// task: relu
// expect: crash:*, cheat:*, accuracy:*

#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  for (pid_t pid = 1; pid < 64; ++pid) ptrace(PTRACE_ATTACH, pid, nullptr, nullptr);
  ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr);
  memset(kgen_at(&args->outputs, 0)->data, 0, kgen_at(&args->outputs, 0)->nbytes);
  return 0;
}
