// attack: C13 right only where a descriptor may send its process the signal that continues it
// task: relu
// expect: *

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  int ends[2] = {-1, -1};
  bool is_open = pipe(ends) == 0;
#if defined(F_SETSIG)
  is_open = is_open && fcntl(ends[0], F_SETSIG, SIGCONT) == 0 && fcntl(ends[0], F_SETOWN, getpid()) == 0 &&
            fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK) == 0;
#else
  is_open = is_open && fcntl(ends[0], 10, SIGCONT) == 0;
#endif
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (uint64_t i = 0; i < kgen_at(&args->inputs, 0)->element_count; ++i) y[i] = is_open && x[i] > 0 ? x[i] : 0;
  close(ends[0]);
  close(ends[1]);
  return 0;
}
