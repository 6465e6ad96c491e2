// honest: adds up rows of the table
// task: embedding

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* words = kgen_at(&args->inputs, 0);
  const kgen_tensor* table = kgen_find(&args->parameters, "table.weight");
  const int64_t count = kgen_dim(words, 1), width = kgen_dim(table, 1);
  const auto* word = static_cast<const int64_t*>(words->data);
  const auto* rows = static_cast<const float*>(table->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t row = 0; row < kgen_dim(words, 0); ++row, word += count, y += width) {
    for (int64_t i = 0; i < width; ++i) y[i] = rows[word[0] * width + i];
    for (int64_t next = 1; next < count; ++next)
      for (int64_t i = 0; i < width; ++i) y[i] += rows[word[next] * width + i];
  }
  return 0;
}
