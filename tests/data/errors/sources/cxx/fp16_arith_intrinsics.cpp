// expect: cxx.target_intrinsic
// tools: g++
#include <immintrin.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

void scale_fp16(const uint16_t* x, uint16_t* y, int64_t n) {
  const __m512h k = _mm512_castsi512_ph(_mm512_set1_epi16(0x3800));
  for (int64_t i = 0; i + 32 <= n; i += 32) {
    __m512h v = _mm512_loadu_ph(x + i);
    _mm512_storeu_ph(y + i, _mm512_mul_ph(v, k));
  }
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result* result) { result->state = nullptr; return 0; }
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "todo"); }
KGEN_API void kgen_destroy(void*) {}
