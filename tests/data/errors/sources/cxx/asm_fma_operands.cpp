// expect: cxx.assembler
// tools: g++ clang++
#include <immintrin.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

static inline __m256 fma_asm(__m256 acc, __m256 a, __m256 b) {
  __asm__("vfmadd231ps %1, %0" : "+x"(acc) : "x"(a), "x"(b));
  return acc;
}

float dot_asm(const float* a, const float* b, int64_t n) {
  __m256 acc = _mm256_setzero_ps();
  for (int64_t i = 0; i + 8 <= n; i += 8) acc = fma_asm(acc, _mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i));
  float lanes[8];
  _mm256_storeu_ps(lanes, acc);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3] + lanes[4] + lanes[5] + lanes[6] + lanes[7];
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result* result) { result->state = nullptr; return 0; }
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "todo"); }
KGEN_API void kgen_destroy(void*) {}
