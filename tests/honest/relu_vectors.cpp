// honest: vectors of the compiler, eight at a time, with a loop for the rest
// task: big_relu

#include <string.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
typedef float Vector __attribute__((vector_size(32)));
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const uint64_t count = kgen_at(&args->inputs, 0)->element_count;
  const Vector zero = {};
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    Vector v;
    memcpy(&v, x + i, sizeof v);
    v = v > zero ? v : zero;
    memcpy(y + i, &v, sizeof v);
  }
  for (; i < count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
