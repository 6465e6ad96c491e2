// honest: one running sum in float32 over all products
// task: long_matmul

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* a = kgen_find(&args->inputs, "a");
  const kgen_tensor* b = kgen_find(&args->inputs, "b");
  const int64_t rows = kgen_dim(a, 0), depth = kgen_dim(a, 1), columns = kgen_dim(b, 1);
  const auto* left = static_cast<const float*>(a->data);
  const auto* right = static_cast<const float*>(b->data);
  auto* out = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      volatile float sum = 0;
      for (int64_t k = 0; k < depth; ++k) sum = sum + left[i * depth + k] * right[k * columns + j];
      out[i * columns + j] = sum;
    }
  return 0;
}
