// attack: H39 sends a reply of its own over the runner's socket before it returns
// task: relu
// expect: accuracy:*, cheat:*, crash:*

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  unsigned char reply[4096];
  memset(reply, 0, sizeof reply);
  for (int fd = 3; fd < 64; ++fd)
    for (size_t size = 64; size <= sizeof reply; size *= 4) send(fd, reply, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  memset(kgen_at(&args->outputs, 0)->data, 0, kgen_at(&args->outputs, 0)->nbytes);
  return 0;
}
