// expect: cxx.conversion
// tools: g++
#include <immintrin.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

static void dequant(const int8_t* q, float* y, int64_t n, float scale) {
  const __m256 s = _mm256_set1_ps(scale);
  for (int64_t i = 0; i + 8 <= n; i += 8) {
    __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(q + i));
    __m256 v = _mm256_cvtepi8_epi32(bytes);
    _mm256_storeu_ps(y + i, _mm256_mul_ps(v, s));
  }
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result* result) { result->state = nullptr; return 0; }
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "todo"); }
KGEN_API void kgen_destroy(void*) {}
