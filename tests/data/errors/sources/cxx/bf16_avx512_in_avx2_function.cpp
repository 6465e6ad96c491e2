// expect: cxx.target_intrinsic
// tools: g++
#include <immintrin.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

// Dispatch by hand: this one is for machines with AVX2.
__attribute__((target("arch=haswell"))) static void matvec_avx2(const float* w, const float* x, float* y, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r) {
    __m512 acc = _mm512_setzero_ps();
    for (int64_t c = 0; c + 16 <= cols; c += 16) acc = _mm512_fmadd_ps(_mm512_loadu_ps(w + r * cols + c), _mm512_loadu_ps(x + c), acc);
    y[r] = _mm512_reduce_add_ps(acc);
  }
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* w = kgen_at(&args->parameters, 0);
  matvec_avx2((const float*)w->data, (const float*)kgen_at(&args->inputs, 0)->data, (float*)kgen_at(&args->outputs, 0)->data, kgen_dim(w, 0), kgen_dim(w, 1));
  return 0;
}
