// expect: cxx.syntax
// tools: g++ clang++
#include <math.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

static void saxpy(const float* restrict x, float* restrict y, float a, size_t n) {
  for (size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result* result) { result->state = nullptr; return 0; }
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "todo"); }
KGEN_API void kgen_destroy(void*) {}
