// Layer normalization over the last dimension. A row stays in the first cache level, so two passes for mean and
// variance cost little, and subtracting the mean first keeps rows with a large offset precise.
#include <cmath>
#include <cstdint>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr double k_epsilon = 1e-5;  // torch's default; the task does not hand it over as an argument

void normalize_row(const float* __restrict x, const float* __restrict weight, const float* __restrict bias,
                   float* __restrict y, std::int64_t columns) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < columns; ++i) sum += x[i];
  const double mean = sum / static_cast<double>(columns);
  double squares = 0.0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < columns; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const auto scale = static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(columns) + k_epsilon));
  // The mean in two parts: their sum is exact to double, the subtraction stays in float.
  const auto high = static_cast<float>(mean);
  const auto low = static_cast<float>(mean - high);
#pragma omp simd
  for (std::int64_t i = 0; i < columns; ++i) y[i] = ((x[i] - high) - low) * scale * weight[i] + bias[i];
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* y = kgen_find(&args->outputs, "output");
  const kgen_tensor* weight = kgen_find(&args->parameters, "norm.weight");
  const kgen_tensor* bias = kgen_find(&args->parameters, "norm.bias");
  if (x == nullptr || y == nullptr || x->rank < 1) return kgen_fail(&args->error, "x or output is missing");
  if (!kgen_is(x, KGEN_FLOAT32, x->rank) || !kgen_is(y, KGEN_FLOAT32, x->rank)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32");
  }
  if (!kgen_is(weight, KGEN_FLOAT32, 1) || !kgen_is(bias, KGEN_FLOAT32, 1) || kgen_dim(weight, 0) != kgen_dim(x, -1) ||
      kgen_dim(bias, 0) != kgen_dim(x, -1)) {
    return kgen_fail(&args->error, "norm.weight and norm.bias must be as long as a row of x");
  }
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "x");
  const float* x = static_cast<const float*>(input->data);
  const float* weight = static_cast<const float*>(kgen_find(&args->parameters, "norm.weight")->data);
  const float* bias = static_cast<const float*>(kgen_find(&args->parameters, "norm.bias")->data);
  float* y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  const std::int64_t columns = kgen_dim(input, -1);
  const std::int64_t rows = columns > 0 ? static_cast<std::int64_t>(input->element_count) / columns : 0;
#pragma omp parallel for schedule(static) num_threads(args->threads)
  for (std::int64_t row = 0; row < rows; ++row) {
    normalize_row(x + row * columns, weight, bias, y + row * columns, columns);
  }
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
