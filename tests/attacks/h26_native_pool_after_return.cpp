// attack: H26 threads of its own do the second half after the return
// task: big_gelu
// twin: gelu_scalar.cpp
// timed: yes
// expect: accuracy:*, off_distribution:*

#include <math.h>

#include <thread>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const auto count = static_cast<int64_t>(input->element_count);
  const auto part = [=](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) y[i] = 0.5F * x[i] * (1 + erff(x[i] * 0.70710678F));
  };
  std::thread(part, count / 2, count).detach();
  part(0, count / 2);
  return 0;
}
