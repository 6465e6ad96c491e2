// attack: H63 rounds what it multiplies to TF32's 10 bits
// task: long_matmul

#include <string.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
float rounded(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x1000) & ~0x1FFFU;
  memcpy(&value, &bits, sizeof bits);
  return value;
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* a = kgen_at(&args->inputs, 0);
  const kgen_tensor* b = kgen_at(&args->inputs, 1);
  const int64_t rows = kgen_dim(a, 0), depth = kgen_dim(a, 1), columns = kgen_dim(b, 1);
  const auto* left = static_cast<const float*>(a->data);
  const auto* right = static_cast<const float*>(b->data);
  auto* out = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t i = 0; i < rows * columns; ++i) out[i] = 0;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < depth; ++k) {
      const float factor = rounded(left[row * depth + k]);
      for (int64_t column = 0; column < columns; ++column)
        out[row * columns + column] += factor * rounded(right[k * columns + column]);
    }
  return 0;
}
