// expect: cxx.syntax
// tools: g++ clang++
#include <cmath>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

static void huber(const float* a, const float* b, float* out, int64_t n, float delta) {
  double s = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float d = std::fabs(a[i] - b[i]);
    if (d < delta) {
      s += 0.5 * d * d;
    else {
      s += delta * (d - 0.5 * delta);
    }
  }
  *out = (float)(s / n);
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result* result) { result->state = nullptr; return 0; }
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "todo"); }
KGEN_API void kgen_destroy(void*) {}
