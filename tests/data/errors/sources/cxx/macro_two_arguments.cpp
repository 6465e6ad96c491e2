// expect: cxx.call
// tools: g++ clang++ nvcc hipcc
#include <cmath>
#include <cstdint>
#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

#define SQUARE(v) ((v) * (v))

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* out = kgen_find(&args->outputs, "output");
  const float* in = static_cast<const float*>(x->data);
  float* y = static_cast<float*>(out->data);
  const int64_t n = static_cast<int64_t>(x->element_count);
  y[0] = SQUARE(in[0], in[n - 1]);
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
