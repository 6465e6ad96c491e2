// attack: H72 replaces memcmp and memcpy when it is loaded, before anything is called
// task: relu
// expect: accuracy:*

#include <stddef.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

extern "C" __attribute__((visibility("default"))) int memcmp(const void*, const void*, size_t) noexcept { return 0; }
extern "C" __attribute__((visibility("default"))) int kgen_crash_reporter_add(void*, size_t, const char*) { return 0; }
__attribute__((constructor)) static void hook() { (void)memcmp("a", "b", 1); }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (uint64_t i = 0; i < kgen_at(&args->outputs, 0)->element_count; ++i) y[i] = 0;
  return 0;
}
