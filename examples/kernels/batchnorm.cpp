// BatchNorm2d in training mode: statistics of this batch, per channel. Channels go to different threads. The running
// averages play no part in the output, and buffers are read-only for a candidate.
#include <cmath>
#include <cstdint>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr double k_epsilon = 1e-5;  // torch's default; the task does not hand it over as an argument

struct Shape {
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t plane;
};

/// Sums (x - shift) and its square over one channel. Planes are summed apart, so that single precision suffices inside.
void accumulate(const float* __restrict x, const Shape& shape, std::int64_t channel, float shift, double& sum,
                double& squares) {
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    const float* __restrict from = x + (n * shape.channels + channel) * shape.plane;
    double part = 0.0;
    double part_squares = 0.0;
#pragma omp simd reduction(+ : part, part_squares)
    for (std::int64_t i = 0; i < shape.plane; ++i) {
      const float value = from[i] - shift;
      part += value;
      part_squares += static_cast<double>(value) * value;
    }
    sum += part;
    squares += part_squares;
  }
}

void normalize_channel(const float* __restrict x, float* __restrict y, const Shape& shape, std::int64_t channel,
                       float weight, float bias) {
  const auto count = static_cast<double>(shape.batch * shape.plane);
  // One pass instead of two: shifted by the first value, the sum of squares does not cancel.
  const float shift = x[channel * shape.plane];
  double sum = 0.0;
  double squares = 0.0;
  accumulate(x, shape, channel, shift, sum, squares);
  const double mean = sum / count;
  const double variance = squares / count - mean * mean;
  const auto scale = static_cast<float>(weight / std::sqrt((variance > 0.0 ? variance : 0.0) + k_epsilon));
  const auto center = static_cast<float>(mean);
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    const float* __restrict from = x + (n * shape.channels + channel) * shape.plane;
    float* __restrict to = y + (n * shape.channels + channel) * shape.plane;
#pragma omp simd
    for (std::int64_t i = 0; i < shape.plane; ++i) to[i] = ((from[i] - shift) - center) * scale + bias;
  }
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* weight = kgen_find(&args->parameters, "bn.weight");
  const kgen_tensor* bias = kgen_find(&args->parameters, "bn.bias");
  if (!kgen_is(x, KGEN_FLOAT32, 4) || !kgen_is(kgen_find(&args->outputs, "output"), KGEN_FLOAT32, 4)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32 (batch, channels, height, width)");
  }
  if (!kgen_is(weight, KGEN_FLOAT32, 1) || !kgen_is(bias, KGEN_FLOAT32, 1) || kgen_dim(weight, 0) != kgen_dim(x, 1) ||
      kgen_dim(bias, 0) != kgen_dim(x, 1)) {
    return kgen_fail(&args->error, "bn.weight and bn.bias must have one element per channel");
  }
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "x");
  if (input->element_count == 0) return 0;
  const float* x = static_cast<const float*>(input->data);
  const float* weight = static_cast<const float*>(kgen_find(&args->parameters, "bn.weight")->data);
  const float* bias = static_cast<const float*>(kgen_find(&args->parameters, "bn.bias")->data);
  float* y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  const Shape shape{kgen_dim(input, 0), kgen_dim(input, 1), kgen_dim(input, 2) * kgen_dim(input, 3)};
#pragma omp parallel for schedule(static) num_threads(args->threads)
  for (std::int64_t c = 0; c < shape.channels; ++c) normalize_channel(x, y, shape, c, weight[c], bias[c]);
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
