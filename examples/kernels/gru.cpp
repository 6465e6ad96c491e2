// A GRU layer that returns its whole output sequence. The input-side gates of all steps are one matrix product; the
// recurrence has the time loop inside, and every thread owns some rows of the batch, so that no step needs a barrier.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

/// One vector register of floats.
#if defined(__AVX512F__)
constexpr int k_lanes = 16;
#elif defined(__AVX__)
constexpr int k_lanes = 8;
#else
constexpr int k_lanes = 4;
#endif
using Vec = float __attribute__((vector_size(k_lanes * sizeof(float))));
using VecInt = std::int32_t __attribute__((vector_size(k_lanes * sizeof(float))));

inline Vec load(const float* from) {
  Vec value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline void store(float* to, Vec value) { std::memcpy(to, &value, sizeof value); }

inline Vec select(VecInt mask, Vec yes, Vec no) {
  return (Vec)((mask & (VecInt)yes) | (~mask & (VecInt)no));  // NOLINT: bit casts of vectors
}

/// exp to about 1 ulp, for arguments that are clamped to [-87, 87].
inline Vec exp(Vec x) {
  const Vec low = Vec{} - 87.0f;
  const Vec high = Vec{} + 87.0f;
  x = select(x < low, low, x);
  x = select(x > high, high, x);
  // Adding 1.5 * 2^23 rounds to the nearest integer.
  const Vec n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
  // ln 2 in two parts, so that the difference keeps all its bits (Cody and Waite).
  const Vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Vec p = Vec{} + 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const VecInt power = (__builtin_convertvector(n, VecInt) + 127) << 23;
  return p * (Vec)power;
}

inline Vec sigmoid(Vec x) { return 1.0f / (1.0f + exp(-x)); }

/// tanh to about 1 ulp: a polynomial near zero, where 1 - 2 / (exp(2x) + 1) would cancel.
inline Vec tanh(Vec x) {
  const Vec s = x * x;
  Vec p = Vec{} - 5.70498872745e-3f;
  p = p * s + 2.06390887954e-2f;
  p = p * s - 5.37397155531e-2f;
  p = p * s + 1.33314422036e-1f;
  p = p * s - 3.33332819422e-1f;
  const Vec large = 1.0f - 2.0f / (exp(2.0f * x) + 1.0f);
  return select(s < 0.390625f, p * s * x + x, large);
}

constexpr int k_rows = 4;                      // rows of a batch that are computed together
constexpr std::int64_t k_gates = 3 * k_lanes;  // reset, update and new gate of k_lanes hidden units, side by side

/// One matrix of a GRU, (3 * hidden, depth) in torch, packed as [block of hidden units][depth][gate][lane].
struct Matrix {
  std::int64_t depth = 0;
  std::int64_t blocks = 0;
  std::vector<float> packed;
  std::vector<float> bias;  // [block][gate][lane]

  Matrix(const kgen_tensor* weight, const kgen_tensor* from_bias, std::int64_t hidden)
      : depth(kgen_dim(weight, 1)), blocks((hidden + k_lanes - 1) / k_lanes) {
    packed.resize(static_cast<std::size_t>(blocks * depth * k_gates));
    bias.resize(static_cast<std::size_t>(blocks * k_gates));
    const float* w = static_cast<const float*>(weight->data);
    const float* b = static_cast<const float*>(from_bias->data);
    for (std::int64_t gate = 0; gate < 3; ++gate) {
      for (std::int64_t unit = 0; unit < hidden; ++unit) {
        const std::int64_t lane = gate * k_lanes + unit % k_lanes;
        const std::int64_t row = gate * hidden + unit;
        float* to = packed.data() + unit / k_lanes * depth * k_gates + lane;
        for (std::int64_t k = 0; k < depth; ++k) to[k * k_gates] = w[row * depth + k];
        bias[static_cast<std::size_t>(unit / k_lanes * k_gates + lane)] = b[row];
      }
    }
  }
};

/// sums[row][gate] = bias + x[row] * matrix, for one block of hidden units and Rows rows.
template <int Rows>
inline void multiply(const Matrix& matrix, std::int64_t block, const float* const* x, Vec (&sums)[Rows][3]) {
  const float* bias = matrix.bias.data() + block * k_gates;
  const float* weights = matrix.packed.data() + block * matrix.depth * k_gates;
  Vec products[Rows][3] = {};
  for (std::int64_t k = 0; k < matrix.depth; ++k) {
    for (int gate = 0; gate < 3; ++gate) {
      const Vec weight = load(weights + k * k_gates + gate * k_lanes);
      for (int row = 0; row < Rows; ++row) products[row][gate] += x[row][k] * weight;
    }
  }
  for (int row = 0; row < Rows; ++row) {
    for (int gate = 0; gate < 3; ++gate) sums[row][gate] = products[row][gate] + load(bias + gate * k_lanes);
  }
}

/// The input-side gates of Rows rows: gates[row] is [block][gate][lane].
template <int Rows>
void input_gates(const Matrix& matrix, const float* const* x, float* const* gates) {
  for (std::int64_t block = 0; block < matrix.blocks; ++block) {
    Vec sums[Rows][3];
    multiply<Rows>(matrix, block, x, sums);
    for (int row = 0; row < Rows; ++row) {
      for (int gate = 0; gate < 3; ++gate) {
        store(gates[row] + block * k_gates + gate * k_lanes, sums[row][gate]);
      }
    }
  }
}

/// One time step of Rows rows: h_next = (1 - z) * n + z * h. h and h_next are padded to whole blocks.
template <int Rows>
void step(const Matrix& matrix, const float* const* gates, const float* const* h, float* const* h_next) {
  for (std::int64_t block = 0; block < matrix.blocks; ++block) {
    Vec sums[Rows][3];
    multiply<Rows>(matrix, block, h, sums);
    for (int row = 0; row < Rows; ++row) {
      const float* from = gates[row] + block * k_gates;
      const Vec reset = sigmoid(load(from) + sums[row][0]);
      const Vec update = sigmoid(load(from + k_lanes) + sums[row][1]);
      const Vec fresh = tanh(load(from + 2 * k_lanes) + reset * sums[row][2]);
      const Vec old = load(h[row] + block * k_lanes);
      store(h_next[row] + block * k_lanes, fresh + update * (old - fresh));
    }
  }
}

template <int Rows>
struct Count {
  static constexpr int value = Rows;
};

/// Calls with a number of rows that the compiler knows.
template <typename Call>
void with_rows(std::int64_t rows, Call&& call) {
  switch (rows) {
    case 4:
      return call(Count<4>{});
    case 3:
      return call(Count<3>{});
    case 2:
      return call(Count<2>{});
    default:
      return call(Count<1>{});
  }
}

/// A layer in one direction.
struct Layer {
  Matrix input;
  Matrix hidden;
};

/// Strides of time steps and batch rows, in floats.
struct Places {
  std::int64_t step;
  std::int64_t row;
};

struct Sizes {
  std::int64_t steps;
  std::int64_t batch;
  std::int64_t hidden;
  [[nodiscard]] std::int64_t blocks() const { return (hidden + k_lanes - 1) / k_lanes; }
  [[nodiscard]] std::int64_t padded() const { return blocks() * k_lanes; }
  /// Floats of the gates of one row at one step.
  [[nodiscard]] std::int64_t gate_floats() const { return blocks() * k_gates; }
  [[nodiscard]] std::int64_t groups() const { return (batch + k_rows - 1) / k_rows; }
};

/// The input-side gates of all steps and rows as one matrix product: gates is [step][row][block][gate][lane].
void all_input_gates(const Sizes& sizes, const Matrix& matrix, const float* x, Places places, float* gates,
                     [[maybe_unused]] int threads) {
  const std::int64_t rows = sizes.steps * sizes.batch;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t first = 0; first < rows; first += k_rows) {
    const std::int64_t count = rows - first < k_rows ? rows - first : k_rows;
    const float* from[k_rows];
    float* to[k_rows];
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = first + i;
      from[i] = x + index / sizes.batch * places.step + index % sizes.batch * places.row;
      to[i] = gates + index * sizes.gate_floats();
    }
    with_rows(count, [&](auto n) { input_gates<decltype(n)::value>(matrix, from, to); });
  }
}

enum class Direction { Forward, Backward };

/// The recurrence of one group of rows over all steps. Rows of a batch never meet, so no thread waits for another.
/// h0 is (batch, hidden); scratch holds 2 * k_rows * padded floats. output (may be null) gets the state after every
/// step, last (may be null) the final one, (batch, hidden).
void recur(const Sizes& sizes, const Matrix& matrix, const float* gates, std::int64_t group, Direction direction,
           const float* h0, float* scratch, float* output, Places places, float* last) {
  const std::int64_t first = group * k_rows;
  const std::int64_t count = sizes.batch - first < k_rows ? sizes.batch - first : k_rows;
  const auto row_bytes = static_cast<std::size_t>(sizes.hidden) * sizeof(float);
  float* now[k_rows];
  float* next[k_rows];
  for (std::int64_t i = 0; i < count; ++i) {
    now[i] = scratch + i * sizes.padded();
    next[i] = scratch + (k_rows + i) * sizes.padded();
    std::memset(now[i], 0, static_cast<std::size_t>(sizes.padded()) * sizeof(float));
    std::memcpy(now[i], h0 + (first + i) * sizes.hidden, row_bytes);
  }
  for (std::int64_t t = 0; t < sizes.steps; ++t) {
    const std::int64_t at = direction == Direction::Forward ? t : sizes.steps - 1 - t;
    const float* from[k_rows];
    for (std::int64_t i = 0; i < count; ++i) from[i] = gates + (at * sizes.batch + first + i) * sizes.gate_floats();
    with_rows(count, [&](auto n) { step<decltype(n)::value>(matrix, from, now, next); });
    for (std::int64_t i = 0; i < count; ++i) {
      if (output != nullptr) std::memcpy(output + at * places.step + (first + i) * places.row, next[i], row_bytes);
      std::swap(now[i], next[i]);
    }
  }
  for (std::int64_t i = 0; i < count && last != nullptr; ++i) {
    std::memcpy(last + (first + i) * sizes.hidden, now[i], row_bytes);
  }
}

/// The two matrices of a layer by their names in torch.nn.GRU: suffix is "l0", "l1", "l0_reverse", ...
const char* add_layer(const kgen_prepare_args* args, const std::string& suffix, std::int64_t hidden,
                      std::vector<Layer>& layers) {
  const auto find = [&](const char* prefix) { return kgen_find(&args->parameters, (prefix + suffix).c_str()); };
  const kgen_tensor* weight_ih = find("gru.weight_ih_");
  const kgen_tensor* weight_hh = find("gru.weight_hh_");
  const kgen_tensor* bias_ih = find("gru.bias_ih_");
  const kgen_tensor* bias_hh = find("gru.bias_hh_");
  if (!kgen_is(weight_ih, KGEN_FLOAT32, 2) || !kgen_is(weight_hh, KGEN_FLOAT32, 2) ||
      !kgen_is(bias_ih, KGEN_FLOAT32, 1) || !kgen_is(bias_hh, KGEN_FLOAT32, 1)) {
    return "a parameter of gru is missing or is not contiguous float32";
  }
  if (kgen_dim(weight_ih, 0) != 3 * hidden || kgen_dim(weight_hh, 0) != 3 * hidden ||
      kgen_dim(weight_hh, 1) != hidden) {
    return "the shapes of gru's parameters do not fit h0";
  }
  layers.push_back({Matrix(weight_ih, bias_ih, hidden), Matrix(weight_hh, bias_hh, hidden)});
  return nullptr;
}

struct State {
  std::vector<Layer> layers;
  Sizes sizes{};
};

bool tensors_are_usable(const kgen_prepare_args* args) {
  return kgen_is(kgen_find(&args->inputs, "x"), KGEN_FLOAT32, 3) &&
         kgen_is(kgen_find(&args->inputs, "h0"), KGEN_FLOAT32, 3) &&
         kgen_is(kgen_find(&args->outputs, "output"), KGEN_FLOAT32, 3);
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (!tensors_are_usable(args))
    return kgen_fail(&args->error, "x, h0 and output must be contiguous float32 of rank 3");
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  auto state = std::make_unique<State>();
  state->sizes = {kgen_dim(x, 0), kgen_dim(x, 1), kgen_dim(h0, 2)};
  const char* problem = add_layer(args, "l0", state->sizes.hidden, state->layers);
  if (problem != nullptr) return kgen_fail(&args->error, problem);
  const Sizes& sizes = state->sizes;
  result->workspace_bytes = sizeof(float) * static_cast<std::uint64_t>(sizes.steps * sizes.batch * sizes.gate_floats() +
                                                                       sizes.groups() * 2 * k_rows * sizes.padded());
  result->state = state.release();
  return 0;
}

KGEN_API int kgen_run(void* opaque, const kgen_run_args* args) {
  const auto& state = *static_cast<const State*>(opaque);
  const Sizes& sizes = state.sizes;
  const Layer& layer = state.layers[0];
  const float* x = static_cast<const float*>(kgen_find(&args->inputs, "x")->data);
  const float* h0 = static_cast<const float*>(kgen_find(&args->inputs, "h0")->data);
  float* y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  float* gates = static_cast<float*>(args->workspace);
  float* scratch = gates + sizes.steps * sizes.batch * sizes.gate_floats();
  const std::int64_t depth = layer.input.depth;
  all_input_gates(sizes, layer.input, x, {sizes.batch * depth, depth}, gates, args->threads);
#pragma omp parallel for schedule(static) num_threads(args->threads)
  for (std::int64_t group = 0; group < sizes.groups(); ++group) {
    recur(sizes, layer.hidden, gates, group, Direction::Forward, h0, scratch + group * 2 * k_rows * sizes.padded(), y,
          {sizes.batch * sizes.hidden, sizes.hidden}, nullptr);
  }
  return 0;
}

KGEN_API void kgen_destroy(void* state) { delete static_cast<State*>(state); }
