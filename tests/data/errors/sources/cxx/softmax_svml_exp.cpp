// expect: cxx.undeclared
// tools: g++ clang++
#include <immintrin.h>
#include <cmath>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

static void exp_row(const float* x, float* y, int64_t n, float m) {
  const __m256 vm = _mm256_set1_ps(m);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 v = _mm256_sub_ps(_mm256_loadu_ps(x + i), vm);
    _mm256_storeu_ps(y + i, _mm256_exp_ps(v));
  }
  for (; i < n; ++i) y[i] = std::exp(x[i] - m);
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result* result) { result->state = nullptr; return 0; }
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "todo"); }
KGEN_API void kgen_destroy(void*) {}
