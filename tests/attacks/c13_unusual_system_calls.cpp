// attack: C13 right only where one of io_setup, mq_open, userfaultfd, bpf, perf_event_open or keyctl is allowed
// task: relu
// expect: *

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  unsigned long context = 0;
  char attributes[128];
  memset(attributes, 0, sizeof attributes);
  bool is_open = syscall(SYS_io_setup, 4, &context) == 0;
  is_open = is_open || syscall(SYS_mq_open, "/kept", 0102, 0600, nullptr) >= 0;
  is_open = is_open || syscall(SYS_userfaultfd, 1) >= 0;
  is_open = is_open || syscall(SYS_bpf, 0, attributes, sizeof attributes) >= 0;
  is_open = is_open || syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0) >= 0;
  is_open = is_open || syscall(SYS_keyctl, 0, -3, 1) >= 0;
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (uint64_t i = 0; i < kgen_at(&args->inputs, 0)->element_count; ++i) y[i] = is_open && x[i] > 0 ? x[i] : 0;
  return 0;
}
