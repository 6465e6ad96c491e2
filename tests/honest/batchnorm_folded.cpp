// honest: scale and shift by channel, made in kgen_prepare
// task: batchnorm

#include <math.h>

#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {
struct Folded {
  std::vector<float> scale, shift;
};
}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const auto parameter = [&](const char* name) {
    return static_cast<const float*>(kgen_find(&args->parameters, name)->data);
  };
  const auto buffer = [&](const char* name) {
    return static_cast<const float*>(kgen_find(&args->buffers, name)->data);
  };
  auto* folded = new Folded;
  for (int64_t i = 0; i < kgen_dim(kgen_find(&args->parameters, "norm.weight"), 0); ++i) {
    folded->scale.push_back(parameter("norm.weight")[i] / sqrtf(buffer("norm.running_var")[i] + 1e-5F));
    folded->shift.push_back(parameter("norm.bias")[i] - buffer("norm.running_mean")[i] * folded->scale[i]);
  }
  result->state = folded;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { delete static_cast<Folded*>(state); }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  const auto& folded = *static_cast<const Folded*>(state);
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const int64_t channels = kgen_dim(input, 1), pixels = kgen_dim(input, 2) * kgen_dim(input, 3);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t plane = 0; plane < kgen_dim(input, 0) * channels; ++plane)
    for (int64_t i = plane * pixels; i < (plane + 1) * pixels; ++i)
      y[i] = fmaxf(0, x[i] * folded.scale[plane % channels] + folded.shift[plane % channels]);
  return 0;
}
