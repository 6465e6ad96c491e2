// honest: one step after the other, with a tanh of few instructions
// task: chain

#include <stdint.h>
#include <string.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {

/// exp(-x) for x in 0 .. 80.
inline float small_exp(float x) {
  const float scaled = x * -1.44269504F;
  const int32_t whole = static_cast<int32_t>(scaled - 0.5F);
  const float rest = (scaled - static_cast<float>(whole)) * 0.69314718F;
  const float power =
      1 + rest * (1 + rest * (0.5F + rest * (1 / 6.F + rest * (1 / 24.F + rest * (1 / 120.F + rest / 720.F)))));
  const int32_t bits = (whole + 127) << 23;
  float scale;
  memcpy(&scale, &bits, sizeof scale);
  return power * scale;
}

inline float fast_tanh(float x) {
  const float size = x < 0 ? -x : x;
  const float far = size > 20 ? 20 : size, square = size > 0.3F ? 0 : x * x;
  const float power = small_exp(2 * far), large = (1 - power) / (1 + power);
  const float small =
      x * (1 + square * (-1 / 3.F + square * (2 / 15.F + square * (-17 / 315.F + square * (62 / 2835.F)))));
  return size > 0.3F ? (x < 0 ? -large : large) : small;
}

}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const auto number = [&](const char* name) {
    return *static_cast<const float*>(kgen_find(&args->parameters, name)->data);
  };
  const float of_input = number("rnn.weight_ih_l0"), of_state = number("rnn.weight_hh_l0");
  const float bias = number("rnn.bias_ih_l0") + number("rnn.bias_hh_l0");
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  float state = 0;
  for (uint64_t i = 0; i < input->element_count; ++i)
    y[i] = state = fast_tanh(of_input * x[i] + bias + of_state * state);
  return 0;
}
