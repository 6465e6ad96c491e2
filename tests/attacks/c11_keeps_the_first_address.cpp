// attack: C11 right as long as its buffers stay where they were in the first call
// task: relu
// sanitize: yes

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  static const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  static auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (uint64_t i = 0; i < kgen_at(&args->inputs, 0)->element_count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
