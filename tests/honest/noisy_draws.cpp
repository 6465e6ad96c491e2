// honest: takes what forward() draws as an input
// task: noisy

#include <cmath>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const struct kgen_prepare_args*, struct kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const struct kgen_run_args* args) {
  const auto* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  const auto* noise = static_cast<const float*>(kgen_at(&args->draws, 0)->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t i = 0; i < input->element_count; ++i) y[i] = std::tanh(x[i] + noise[i]);
  return 0;
}
