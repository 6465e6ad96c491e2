// attack: H20 a native thread fills the output after kgen_run has returned
// task: big_gelu
// twin: gelu_scalar.cpp
// timed: yes
// expect: accuracy:*, off_distribution:*

#include <math.h>

#include <atomic>
#include <thread>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
struct Work {
  const float* x;
  float* y;
  int64_t count;
};
std::atomic<Work*> next{nullptr};
Work work;

void serve() {
  for (;;) {
    Work* mine = next.exchange(nullptr);
    if (mine == nullptr) continue;
    for (int64_t i = 0; i < mine->count; ++i) mine->y[i] = 0.5F * mine->x[i] * (1 + erff(mine->x[i] * 0.70710678F));
  }
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  static const bool started = (std::thread(serve).detach(), true);
  (void)started;
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  work = {static_cast<const float*>(input->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data),
          static_cast<int64_t>(input->element_count)};
  next = &work;
  return 0;
}
