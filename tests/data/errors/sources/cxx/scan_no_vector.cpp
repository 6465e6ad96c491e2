// expect: cxx.undeclared
// tools: g++ clang++
#include <cmath>
#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const kgen_tensor* y = kgen_at(&args->outputs, 0);
  const int64_t rows = kgen_dim(x, 0), cols = kgen_dim(x, 1);
  std::vector<float> carry(rows, 0.0f);
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t r = 0; r < rows; ++r) {
      carry[r] += ((const float*)x->data)[r * cols + c];
      ((float*)y->data)[r * cols + c] = carry[r];
    }
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
