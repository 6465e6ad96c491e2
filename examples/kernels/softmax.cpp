// Softmax along the last dimension. Each row is cut into blocks that fit the cache: one pass finds the row's maximum,
// one computes exp and sums, one scales. Rows go to different threads.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

/// exp for x <= 0, about 1 ulp, in a form that compilers vectorize: 2^n by the exponent bits, the rest by a polynomial.
inline float exp_nonpositive(float x) {
  // Below this, the result is no normal number; the clamp keeps the exponent arithmetic in range.
  const float clamped = x < -87.0f ? -87.0f : x;
  const float n = std::nearbyint(clamped * 1.44269504f);
  // ln 2 in two parts, so that the difference keeps all its bits (Cody and Waite).
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const std::int32_t bits = (static_cast<std::int32_t>(n) + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return x < -87.0f ? 0.0f : p * power;
}

void softmax_row(const float* __restrict x, float* __restrict y, std::int64_t columns) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < columns; ++i) largest = x[i] > largest ? x[i] : largest;

  constexpr std::int64_t k_block = 1024;
  double sum = 0.0;  // over blocks, so that a long row loses nothing
  for (std::int64_t begin = 0; begin < columns; begin += k_block) {
    const std::int64_t end = begin + k_block < columns ? begin + k_block : columns;
    float part = 0.0f;
#pragma omp simd reduction(+ : part)
    for (std::int64_t i = begin; i < end; ++i) {
      y[i] = exp_nonpositive(x[i] - largest);
      part += y[i];
    }
    sum += part;
  }
  const float scale = static_cast<float>(1.0 / sum);
#pragma omp simd
  for (std::int64_t i = 0; i < columns; ++i) y[i] *= scale;
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* y = kgen_find(&args->outputs, "output");
  if (x == nullptr || y == nullptr || x->rank < 1) return kgen_fail(&args->error, "x or output is missing");
  if (!kgen_is(x, KGEN_FLOAT32, x->rank) || !kgen_is(y, KGEN_FLOAT32, x->rank)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32");
  }
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "x");
  const float* x = static_cast<const float*>(input->data);
  float* y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  const std::int64_t columns = kgen_dim(input, -1);
  const std::int64_t rows = columns > 0 ? static_cast<std::int64_t>(input->element_count) / columns : 0;
#pragma omp parallel for schedule(static) num_threads(args->threads)
  for (std::int64_t row = 0; row < rows; ++row) softmax_row(x + row * columns, y + row * columns, columns);
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
