// Dies at the next multiple of 250 ms of the monotonic clock, so that the time of its death is known.
#include <kernelgen/abi.h>
#include <signal.h>
#include <time.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const struct kgen_prepare_args*, struct kgen_prepare_result*) { return 0; }

KGEN_API int kgen_run(void*, const struct kgen_run_args*) {
  constexpr long k_beat = 250'000'000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long start = now.tv_nsec / k_beat;
  while (now.tv_nsec / k_beat == start) clock_gettime(CLOCK_MONOTONIC, &now);
  raise(SIGSEGV);
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
