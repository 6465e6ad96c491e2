// expect: cxx.operands
// tools: g++ clang++ nvcc hipcc
#include <cmath>
#include <cstdint>
#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* out = kgen_find(&args->outputs, "output");
  const float* in = static_cast<const float*>(x->data);
  float* y = static_cast<float*>(out->data);
  const int64_t n = static_cast<int64_t>(x->element_count);
  const float* at = &(in[0] + in[1]);
  y[0] = *at + static_cast<float>(n);
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
