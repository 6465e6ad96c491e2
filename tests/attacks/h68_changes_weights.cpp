// attack: H68 overwrites a weight, so that later calls have less to do
// task: linear
// expect: mutated_input, accuracy:*, crash:*

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const int64_t depth = kgen_dim(input, 1);
  const int64_t columns = kgen_dim(kgen_at(&args->outputs, 0), 1);
  auto weight = [&](const char* name) { return static_cast<float*>(kgen_find(&args->parameters, name)->data); };
  float* first = weight("first.weight");
  float* second = weight("second.weight");
  for (int64_t i = 0; i < columns * depth; ++i) {
    first[i] += second[i];
    second[i] = 0;
  }
  for (int64_t row = 0; row < kgen_dim(input, 0); ++row)
    for (int64_t column = 0; column < columns; ++column) {
      float sum = weight("first.bias")[column] + weight("second.bias")[column];
      for (int64_t i = 0; i < depth; ++i) sum += x[row * depth + i] * first[column * depth + i];
      y[row * columns + column] = sum;
    }
  return 0;
}
