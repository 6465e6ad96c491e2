// honest: a direct convolution with a fused relu
// task: conv

#include <algorithm>
#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const kgen_tensor* weights = kgen_find(&args->parameters, "conv.weight");
  const int64_t images = kgen_dim(input, 0), inputs = kgen_dim(input, 1), height = kgen_dim(input, 2),
                width = kgen_dim(input, 3), outputs = kgen_dim(weights, 0);
  const auto* x = static_cast<const float*>(input->data);
  const auto* weight = static_cast<const float*>(weights->data);
  const auto* bias = static_cast<const float*>(kgen_find(&args->parameters, "conv.bias")->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
#pragma omp parallel for collapse(2)
  for (int64_t image = 0; image < images; ++image)
    for (int64_t output = 0; output < outputs; ++output) {
      float* plane = y + (image * outputs + output) * height * width;
      std::fill(plane, plane + height * width, bias[output]);
      for (int64_t channel = 0; channel < inputs; ++channel)
        for (int64_t tap = 0; tap < 9; ++tap) {
          const int64_t down = tap / 3 - 1, right = tap % 3 - 1;
          const float factor = weight[(output * inputs + channel) * 9 + tap];
          const float* from = x + (image * inputs + channel) * height * width;
          for (int64_t row = std::max<int64_t>(0, -down); row < std::min(height, height - down); ++row)
            for (int64_t i = std::max<int64_t>(0, -right); i < std::min(width, width - right); ++i)
              plane[row * width + i] += factor * from[(row + down) * width + i + right];
        }
      for (int64_t i = 0; i < height * width; ++i) plane[i] = std::max(plane[i], 0.0F);
    }
  return 0;
}
