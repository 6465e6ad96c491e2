// honest: float16 by its sign bit
// task: half_relu

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const auto* x = static_cast<const uint16_t*>(kgen_at(&args->inputs, 0)->data);
  auto* y = static_cast<uint16_t*>(kgen_at(&args->outputs, 0)->data);
  for (uint64_t i = 0; i < kgen_at(&args->inputs, 0)->element_count; ++i) y[i] = (x[i] & 0x8000U) != 0 ? 0 : x[i];
  return 0;
}
