// expect: cxx.operands
// tools: g++ clang++
#include <cmath>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

static void sincos_positions(float* y, int64_t steps, int64_t d) {
  for (int64_t t = 0; t < steps; ++t)
    for (int64_t i = 0; i < d; ++i) {
      const float angle = t / std::pow(10000.0f, (float)i / d);
      const float wrapped = angle % 6.2831853f;
      y[t * d + i] = i % 2 ? std::cos(wrapped) : std::sin(wrapped);
    }
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result* result) { result->state = nullptr; return 0; }
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "todo"); }
KGEN_API void kgen_destroy(void*) {}
