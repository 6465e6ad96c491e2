// attack: H27 defines clock_gettime and the runner's own clock, natively
// task: big_relu
// twin: relu_plain.cpp
// installed: yes

#include <time.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

/* Calls from the scope of this library get no time. */
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t, struct timespec* now) noexcept {
  now->tv_sec = now->tv_nsec = 0;
  return 0;
}
extern "C" __attribute__((visibility("default"))) int64_t kgen_now_ns(void) { return 0; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const auto count = static_cast<int64_t>(kgen_at(&args->outputs, 0)->nbytes / sizeof(float));
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
