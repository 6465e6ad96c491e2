// One pass over memory: a row is gated, its squares are summed, and it is scaled while it is still in the cache.
#include <cmath>
#include <cstdint>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* hidden = kgen_find(&args->inputs, "hidden");
  const kgen_tensor* gate = kgen_find(&args->inputs, "gate");
  const kgen_tensor* weight = kgen_find(&args->parameters, "weight");
  if (!kgen_is(hidden, KGEN_FLOAT32, 2) || !kgen_is(gate, KGEN_FLOAT32, 2) || !kgen_is(weight, KGEN_FLOAT32, 1)) {
    return kgen_fail(&args->error, "hidden and gate must be float32 with two dimensions, weight with one");
  }
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "hidden");
  const auto* hidden = static_cast<const float*>(input->data);
  const auto* gate = static_cast<const float*>(kgen_find(&args->inputs, "gate")->data);
  const auto* weight = static_cast<const float*>(kgen_find(&args->parameters, "weight")->data);
  auto* output = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  const std::int64_t rows = kgen_dim(input, 0);
  const std::int64_t width = kgen_dim(input, 1);
#pragma omp parallel for num_threads(args->threads)
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* h = hidden + row * width;
    const float* g = gate + row * width;
    float* out = output + row * width;
    double sum = 0.0;
    for (std::int64_t i = 0; i < width; ++i) {
      out[i] = h[i] * g[i] / (1.0f + std::exp(-g[i]));
      sum += out[i] * out[i];
    }
    const auto scale = static_cast<float>(1.0 / std::sqrt(sum / static_cast<double>(width)));
    for (std::int64_t i = 0; i < width; ++i) out[i] *= scale * weight[i];
  }
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
