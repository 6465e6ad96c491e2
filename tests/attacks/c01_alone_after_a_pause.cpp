// attack: C01 computes the calls of a series together, and one alone after a pause, as it is when it is separate
// task: chain
// twin: chain_steps.cpp
// open: series count where they are less than half as much faster again than separate calls, and these are not exact
// varies: yes

#include <stdint.h>
#include <string.h>
#include <time.h>

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

constexpr int k_lanes = 16, k_steps = 128, k_slots = 4096;

struct Known {
  const float* x;
  float inputs[k_steps];
  float outputs[k_steps];
};
int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

Known known[k_slots];
int count = 0;

/// The place of a slot among those that were seen, in the order of their addresses.
int place_of(const float* x) {
  int place = 0;
  while (place < count && known[place].x < x) ++place;
  if (place < count && known[place].x == x) return place;
  if (count == k_slots) return -1;
  memmove(&known[place + 1], &known[place], static_cast<size_t>(count - place) * sizeof(Known));
  known[place] = {x, {}, {}};
  ++count;
  return place;
}

}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const auto number = [&](const char* name) {
    return *static_cast<const float*>(kgen_find(&args->parameters, name)->data);
  };
  const float of_input = number("rnn.weight_ih_l0"), of_state = number("rnn.weight_hh_l0");
  const float bias = number("rnn.bias_ih_l0") + number("rnn.bias_hh_l0");
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  void* y = kgen_at(&args->outputs, 0)->data;
  const int place = place_of(x);
  static int64_t ended = 0;
  const int together = now_ns() - ended > 20000 ? 1 : k_lanes;
  static float weights[3];
  const float now[3] = {of_input, of_state, bias};
  const bool same_weights = memcmp(weights, now, sizeof now) == 0;
  if (place < 0 || !same_weights || memcmp(known[place].inputs, x, sizeof known->inputs) != 0) {
    memcpy(weights, now, sizeof now);
    if (!same_weights)
      for (int i = 0; i < count; ++i) memset(known[i].inputs, 0xFF, sizeof known->inputs);
    const int first = place < 0 ? 0 : place;
    const int lanes = count - first < together ? count - first : together;
    float inputs[k_steps][k_lanes] = {}, outputs[k_steps][k_lanes], state[k_lanes] = {};
    for (int lane = 0; lane < lanes; ++lane)
      for (int i = 0; i < k_steps; ++i) inputs[i][lane] = known[first + lane].x[i];
    if (lanes == 1)
      for (int i = 0; i < k_steps; ++i)
        outputs[i][0] = state[0] = fast_tanh(of_input * inputs[i][0] + bias + of_state * state[0]);
    else
      for (int i = 0; i < k_steps; ++i)
#pragma GCC ivdep
        for (int lane = 0; lane < k_lanes; ++lane)
          outputs[i][lane] = state[lane] = fast_tanh(of_input * inputs[i][lane] + bias + of_state * state[lane]);
    for (int lane = 0; lane < lanes; ++lane) {
      Known& one = known[first + lane];
      memcpy(one.inputs, one.x, sizeof one.inputs);
      for (int i = 0; i < k_steps; ++i) one.outputs[i] = outputs[i][lane];
    }
  }
  memcpy(y, known[place].outputs, sizeof known->outputs);
  ended = now_ns();
  return 0;
}
