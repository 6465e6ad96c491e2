// gelu(x @ weight.T + bias) as a blocked matrix product. kgen_prepare packs the weights into panels of two vector
// registers of columns; kgen_run multiplies k_rows rows of x with a slice of a panel in registers. Slices of 256 steps
// stay in the first cache level, and adding slice by slice rounds less than one long sum.
#include <cstdint>
#include <cstdlib>
#include <cstring>

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

constexpr int k_rows = 6;                      // 6 x 2 accumulators leave registers for the panel
constexpr std::int64_t k_width = 2 * k_lanes;  // columns of a panel
constexpr std::int64_t k_slice = 256;

template <int Count>
inline Vec polynomial(Vec x, const float (&coefficients)[Count]) {
  Vec sum = Vec{} + coefficients[0];
  for (int i = 1; i < Count; ++i) sum = sum * x + coefficients[i];
  return sum;
}

/// x times the normal distribution function, which is erfc(-x / sqrt 2) / 2. Approximations of Cephes' ndtrf.
inline Vec gelu(Vec x) {
  static constexpr float near_zero[] = {7.853861353153693e-5f,  -8.010193625184903e-4f, 5.188327685732524e-3f,
                                        -2.685381193529856e-2f, 1.128358514861418e-1f,  -3.761262582423300e-1f,
                                        1.128379165726710e+0f};
  static constexpr float middle[] = {2.326819970068386e-2f,  -1.387039388740657e-1f, 3.687424674597105e-1f,
                                     -5.824733027278666e-1f, 6.210004621745983e-1f,  -4.944515323274145e-1f,
                                     3.404879937665872e-1f,  -2.741127028184656e-1f, 5.638259427386472e-1f};
  static constexpr float tail[] = {-1.047766399936249e+1f, 1.297719955372516e+1f,  -7.495518717768503e+0f,
                                   2.921019019210786e+0f,  -1.015265279202700e+0f, 4.218463358204948e-1f,
                                   -2.820767439740514e-1f, 5.641895067754075e-1f};
  const Vec u = x * 0.70710678118654752f;
  const Vec size = select(u < 0.0f, -u, u);
  const Vec square = u * u;
  const Vec small = 0.5f + 0.5f * u * polynomial(square, near_zero);
  const Vec inverse = 1.0f / size;
  const Vec rest = select(size < 2.0f, polynomial(inverse * inverse, middle), polynomial(inverse * inverse, tail));
  const Vec upper = 0.5f * exp(-square) * inverse * rest;  // 1 - distribution(|x|)
  const Vec large = select(u < 0.0f, upper, 1.0f - upper);
  return x * select(size < 1.0f, small, large);
}

struct State {
  std::int64_t depth;
  std::int64_t columns;
  std::int64_t panels;
  float* packed;  // [panel][depth][k_width]
  float* bias;    // padded to whole panels
};

void pack(State& state, const float* weight, const float* bias) {
  for (std::int64_t column = 0; column < state.panels * k_width; ++column) {
    const bool real = column < state.columns;
    state.bias[column] = real ? bias[column] : 0.0f;
    float* to = state.packed + column / k_width * state.depth * k_width + column % k_width;
    for (std::int64_t k = 0; k < state.depth; ++k) to[k * k_width] = real ? weight[column * state.depth + k] : 0.0f;
  }
}

/// sums[row] += x[row][0 .. depth) * panel, for Rows rows.
template <int Rows>
void multiply(const float* x, std::int64_t stride, const float* panel, std::int64_t depth, float* sums) {
  Vec left[Rows] = {};
  Vec right[Rows] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    const Vec a = load(panel + k * k_width);
    const Vec b = load(panel + k * k_width + k_lanes);
    for (int row = 0; row < Rows; ++row) {
      left[row] += x[row * stride + k] * a;
      right[row] += x[row * stride + k] * b;
    }
  }
  for (int row = 0; row < Rows; ++row) {
    float* sum = sums + row * k_width;
    store(sum, load(sum) + left[row]);
    store(sum + k_lanes, load(sum + k_lanes) + right[row]);
  }
}

void multiply_rows(std::int64_t rows, const float* x, std::int64_t stride, const float* panel, std::int64_t depth,
                   float* sums) {
  if (rows == k_rows) return multiply<k_rows>(x, stride, panel, depth, sums);
  for (std::int64_t row = 0; row < rows; ++row) {
    multiply<1>(x + row * stride, stride, panel, depth, sums + row * k_width);
  }
}

/// One panel of the result. sums is scratch for rows x k_width floats.
void compute_panel(const State& state, std::int64_t panel, const float* x, std::int64_t rows, float* sums, float* y) {
  std::memset(sums, 0, static_cast<std::size_t>(rows * k_width) * sizeof(float));
  for (std::int64_t k = 0; k < state.depth; k += k_slice) {
    const std::int64_t depth = state.depth - k < k_slice ? state.depth - k : k_slice;
    const float* slice = state.packed + (panel * state.depth + k) * k_width;
    for (std::int64_t row = 0; row < rows; row += k_rows) {
      const std::int64_t count = rows - row < k_rows ? rows - row : k_rows;
      multiply_rows(count, x + row * state.depth + k, state.depth, slice, depth, sums + row * k_width);
    }
  }
  const std::int64_t first = panel * k_width;
  const std::int64_t width = state.columns - first < k_width ? state.columns - first : k_width;
  for (std::int64_t row = 0; row < rows; ++row) {
    float* sum = sums + row * k_width;
    for (std::int64_t lane = 0; lane < k_width; lane += k_lanes) {
      store(sum + lane, gelu(load(sum + lane) + load(state.bias + first + lane)));
    }
    std::memcpy(y + row * state.columns + first, sum, static_cast<std::size_t>(width) * sizeof(float));
  }
}

float* allocate(std::int64_t count) {
  const std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(float) + 63) / 64 * 64;
  return static_cast<float*>(std::aligned_alloc(64, bytes));
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* weight = kgen_find(&args->parameters, "linear.weight");
  const kgen_tensor* bias = kgen_find(&args->parameters, "linear.bias");
  if (!kgen_is(x, KGEN_FLOAT32, 2) || !kgen_is(weight, KGEN_FLOAT32, 2) || !kgen_is(bias, KGEN_FLOAT32, 1) ||
      !kgen_is(kgen_find(&args->outputs, "output"), KGEN_FLOAT32, 2)) {
    return kgen_fail(&args->error, "x, linear.weight, linear.bias and output must be contiguous float32");
  }
  if (kgen_dim(x, 1) != kgen_dim(weight, 1)) return kgen_fail(&args->error, "x and linear.weight do not fit");
  auto* state = new State{};
  state->depth = kgen_dim(x, 1);
  state->columns = kgen_dim(weight, 0);
  state->panels = (state->columns + k_width - 1) / k_width;
  state->packed = allocate(state->panels * state->depth * k_width);
  state->bias = allocate(state->panels * k_width);
  if (state->packed == nullptr || state->bias == nullptr) {
    kgen_destroy(state);
    return kgen_fail(&args->error, "no memory for the packed weights");
  }
  pack(*state, static_cast<const float*>(weight->data), static_cast<const float*>(bias->data));
  result->state = state;
  result->workspace_bytes = static_cast<std::uint64_t>(args->threads * kgen_dim(x, 0) * k_width) * sizeof(float);
  return 0;
}

KGEN_API int kgen_run(void* opaque, const kgen_run_args* args) {
  const auto& state = *static_cast<const State*>(opaque);
  const kgen_tensor* input = kgen_find(&args->inputs, "x");
  const float* x = static_cast<const float*>(input->data);
  float* y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  const std::int64_t rows = kgen_dim(input, 0);
  float* scratch = static_cast<float*>(args->workspace);
  const std::int64_t threads = args->threads;
  // Panels are dealt out by hand, so that each thread knows its part of the workspace.
#pragma omp parallel for schedule(static, 1) num_threads(args->threads)
  for (std::int64_t thread = 0; thread < threads; ++thread) {
    for (std::int64_t panel = thread; panel < state.panels; panel += threads) {
      compute_panel(state, panel, x, rows, scratch + thread * rows * k_width, y);
    }
  }
  return 0;
}

KGEN_API void kgen_destroy(void* opaque) {
  auto* state = static_cast<State*>(opaque);
  if (state == nullptr) return;
  std::free(state->packed);
  std::free(state->bias);
  delete state;
}
