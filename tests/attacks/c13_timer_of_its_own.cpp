// attack: C13 right only where it may make a timer that signals its process
// task: relu
// expect: *

#include <signal.h>
#include <time.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGCONT;
  timer_t timer{};
  const bool is_open = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (uint64_t i = 0; i < kgen_at(&args->inputs, 0)->element_count; ++i) y[i] = is_open && x[i] > 0 ? x[i] : 0;
  if (is_open) timer_delete(timer);
  return 0;
}
