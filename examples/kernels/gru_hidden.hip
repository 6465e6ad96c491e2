// A stacked GRU that returns only the last hidden state of every layer. For each layer: the input-side gates of all
// steps as one matrix product, then one persistent kernel with the time loop inside. Its blocks share the hidden units;
// each keeps the weights of its own in LDS for the whole sequence.
//
// Every block needs the whole state of the step before, so the blocks of the grid meet at a barrier once a step: they
// are all on the device together (a cooperative launch, checked beforehand). The state is double-buffered: in step t
// all blocks read buffer t % 2 and write the other one, which no block reads before the barrier.
//
// Lanes exchange values in groups of 8, so the size of a wavefront does not matter.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include <hip/hip_runtime.h>

#include <hip/hip_cooperative_groups.h>  // older versions need the header above before it

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

namespace cg = cooperative_groups;

constexpr int k_gates = 3;  // reset, update, new: the order of torch
constexpr int k_lanes = 8;  // threads that share one sum
constexpr int k_rows = 8;   // of the batch, at a time
constexpr int k_units = 4;  // hidden units that a block computes at a time
constexpr int k_threads = k_lanes * k_rows * k_units;
constexpr int k_padding = 8;  // floats between rows of weights: lanes of neighbouring units hit different banks
constexpr int k_tile = 16;

struct Sizes {
  std::int64_t steps;
  std::int64_t batch;
  std::int64_t hidden;
};

/// gates = x @ weight.T + bias, for all steps and rows of the batch: (rows, columns) of (rows, depth) and (columns,
/// depth).
__global__ void input_gates_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                   const float* __restrict__ bias, float* __restrict__ gates, std::int64_t rows,
                                   std::int64_t columns, std::int64_t depth) {
  __shared__ float x_tile[k_tile][k_tile + 1];
  __shared__ float weight_tile[k_tile][k_tile + 1];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * k_tile + threadIdx.y;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * k_tile + threadIdx.x;
  const std::int64_t weight_row = static_cast<std::int64_t>(blockIdx.y) * k_tile + threadIdx.y;
  float sum = 0.0f;
  for (std::int64_t from = 0; from < depth; from += k_tile) {
    const std::int64_t k = from + threadIdx.x;
    x_tile[threadIdx.y][threadIdx.x] = row < rows && k < depth ? x[row * depth + k] : 0.0f;
    weight_tile[threadIdx.y][threadIdx.x] = weight_row < columns && k < depth ? weight[weight_row * depth + k] : 0.0f;
    __syncthreads();
    for (int i = 0; i < k_tile; ++i) sum += x_tile[threadIdx.y][i] * weight_tile[threadIdx.x][i];
    __syncthreads();
  }
  if (row < rows && column < columns) gates[row * columns + column] = sum + bias[column];
}

__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

__device__ float sum_over_lanes(float value) {
  for (int offset = k_lanes / 2; offset > 0; offset /= 2) value += __shfl_xor(value, offset, k_lanes);
  return value;
}

/// One layer. Block b owns the hidden units [b * own, (b + 1) * own).
struct Recurrence {
  Sizes sizes;
  std::int64_t own;
  const float* gates;   // (steps, batch, 3 * hidden)
  const float* weight;  // (3 * hidden, hidden)
  const float* bias;    // (3 * hidden)
  const float* first;   // (batch, hidden)
  float* states;        // 2 x (batch, hidden)
  float* sequence;      // (steps, batch, hidden); null for the last layer
  float* last;          // (batch, hidden)
};

/// Floats of LDS: the weights of the own units, and the states of k_rows rows.
std::int64_t lds_floats(std::int64_t hidden, std::int64_t own) {
  return own * k_gates * (hidden + k_padding) + k_rows * hidden;
}

__device__ void step(const Recurrence& layer, std::int64_t t, const float* weights, float* staged) {
  const std::int64_t hidden = layer.sizes.hidden;
  const std::int64_t stride = hidden + k_padding;
  const std::int64_t state_floats = layer.sizes.batch * hidden;
  const float* now = t == 0 ? layer.first : layer.states + t % 2 * state_floats;
  const bool is_last = t + 1 == layer.sizes.steps;
  float* next = is_last ? layer.last : layer.states + (t + 1) % 2 * state_floats;
  const int lane = static_cast<int>(threadIdx.x) % k_lanes;
  const int unit_of_group = static_cast<int>(threadIdx.x) / k_lanes % k_units;
  const int row_of_tile = static_cast<int>(threadIdx.x) / (k_lanes * k_units);
  for (std::int64_t tile = 0; tile < layer.sizes.batch; tile += k_rows) {
    const std::int64_t left = layer.sizes.batch - tile;
    const std::int64_t count = (left < k_rows ? left : k_rows) * hidden;
    // Other blocks wrote these: past the first cache, which does not see their writes.
    for (std::int64_t i = threadIdx.x; i < count; i += k_threads) {
      staged[i] = __hip_atomic_load(now + tile * hidden + i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
    __syncthreads();
    const std::int64_t row = tile + row_of_tile;
    for (std::int64_t group = 0; group < layer.own; group += k_units) {
      const std::int64_t local = group + unit_of_group;
      const std::int64_t unit = blockIdx.x * layer.own + local;
      // All lanes stay for the sums below.
      const bool inside = row < layer.sizes.batch && local < layer.own && unit < hidden;
      float sums[k_gates] = {};
      if (inside) {
        const float* state = staged + row_of_tile * hidden;
        const float* from = weights + local * k_gates * stride;
        for (std::int64_t k = lane; k < hidden; k += k_lanes) {
#pragma unroll
          for (int gate = 0; gate < k_gates; ++gate) sums[gate] += from[gate * stride + k] * state[k];
        }
      }
#pragma unroll
      for (int gate = 0; gate < k_gates; ++gate) sums[gate] = sum_over_lanes(sums[gate]);
      if (!inside || lane != 0) continue;
      const float* gates = layer.gates + (t * layer.sizes.batch + row) * k_gates * hidden + unit;
      const float reset = sigmoid(gates[0] + sums[0] + layer.bias[unit]);
      const float update = sigmoid(gates[hidden] + sums[1] + layer.bias[hidden + unit]);
      const float fresh = tanhf(gates[2 * hidden] + reset * (sums[2] + layer.bias[2 * hidden + unit]));
      const float state = fresh + update * (staged[row_of_tile * hidden + unit] - fresh);
      next[row * hidden + unit] = state;
      if (layer.sequence != nullptr) layer.sequence[(t * layer.sizes.batch + row) * hidden + unit] = state;
    }
    __syncthreads();  // before the next tile takes the place of this one
  }
}

__global__ void __launch_bounds__(k_threads) recurrence_kernel(Recurrence layer) {
  extern __shared__ float lds[];
  const std::int64_t hidden = layer.sizes.hidden;
  float* weights = lds;
  float* staged = lds + layer.own * k_gates * (hidden + k_padding);
  for (std::int64_t i = threadIdx.x; i < layer.own * k_gates * hidden; i += k_threads) {
    const std::int64_t local = i / (k_gates * hidden);
    const std::int64_t gate = i / hidden % k_gates;
    const std::int64_t unit = blockIdx.x * layer.own + local;
    const float value = unit < hidden ? layer.weight[(gate * hidden + unit) * hidden + i % hidden] : 0.0f;
    weights[(local * k_gates + gate) * (hidden + k_padding) + i % hidden] = value;
  }
  __syncthreads();
  const cg::grid_group grid = cg::this_grid();
  for (std::int64_t t = 0; t < layer.sizes.steps; ++t) {
    step(layer, t, weights, staged);
    grid.sync();
  }
}

struct State {
  Sizes sizes;
  std::int64_t layers;
  std::int64_t own;
  unsigned blocks;
  unsigned lds_bytes;
};

/// Uses as few units per block as let all blocks run together: more blocks, fewer weights to multiply in each.
const char* spread_over_blocks(State& state) {
  int device = 0;
  int multiprocessors = 0;
  int most_lds = 0;
  if (hipGetDevice(&device) != hipSuccess ||
      hipDeviceGetAttribute(&multiprocessors, hipDeviceAttributeMultiprocessorCount, device) != hipSuccess ||
      hipDeviceGetAttribute(&most_lds, hipDeviceAttributeMaxSharedMemoryPerBlock, device) != hipSuccess) {
    return "the device does not tell its limits";
  }
  const std::int64_t hidden = state.sizes.hidden;
  for (state.own = k_units; state.own < hidden + k_units; state.own += k_units) {
    const auto bytes = lds_floats(hidden, state.own) * static_cast<std::int64_t>(sizeof(float));
    if (bytes > most_lds) break;
    state.blocks = static_cast<unsigned>((hidden + state.own - 1) / state.own);
    state.lds_bytes = static_cast<unsigned>(bytes);
    int resident = 0;
    if (hipOccupancyMaxActiveBlocksPerMultiprocessor(&resident, recurrence_kernel, k_threads, state.lds_bytes) !=
        hipSuccess) {
      return "the device does not take the recurrence kernel";
    }
    if (static_cast<std::int64_t>(resident) * multiprocessors >= state.blocks) return nullptr;
  }
  return "the hidden state is too large for this device";
}

const kgen_tensor* find_parameter(const kgen_tensor_list* parameters, const char* name, std::int64_t layer) {
  char full[64];
  std::snprintf(full, sizeof full, "gru.%s_l%lld", name, static_cast<long long>(layer));
  return kgen_find(parameters, full);
}

const float* parameter_data(const kgen_run_args* args, const char* name, std::int64_t layer) {
  return static_cast<const float*>(find_parameter(&args->parameters, name, layer)->data);
}

const char* check_layer(const kgen_prepare_args* args, std::int64_t layer, std::int64_t depth, std::int64_t hidden) {
  const kgen_tensor* weight_ih = find_parameter(&args->parameters, "weight_ih", layer);
  const kgen_tensor* weight_hh = find_parameter(&args->parameters, "weight_hh", layer);
  const kgen_tensor* bias_ih = find_parameter(&args->parameters, "bias_ih", layer);
  const kgen_tensor* bias_hh = find_parameter(&args->parameters, "bias_hh", layer);
  if (!kgen_is(weight_ih, KGEN_FLOAT32, 2) || !kgen_is(weight_hh, KGEN_FLOAT32, 2) ||
      !kgen_is(bias_ih, KGEN_FLOAT32, 1) || !kgen_is(bias_hh, KGEN_FLOAT32, 1)) {
    return "a parameter of gru is missing or is not contiguous float32";
  }
  if (kgen_dim(weight_ih, 0) != k_gates * hidden || kgen_dim(weight_ih, 1) != depth ||
      kgen_dim(weight_hh, 0) != k_gates * hidden || kgen_dim(weight_hh, 1) != hidden ||
      kgen_dim(bias_ih, 0) != k_gates * hidden || kgen_dim(bias_hh, 0) != k_gates * hidden) {
    return "the shapes of gru's parameters do not fit x and h0";
  }
  return nullptr;
}

/// Parts of the workspace, in floats.
std::int64_t gate_floats(const Sizes& sizes) { return sizes.steps * sizes.batch * k_gates * sizes.hidden; }
std::int64_t sequence_floats(const Sizes& sizes) { return sizes.steps * sizes.batch * sizes.hidden; }
std::int64_t state_floats(const Sizes& sizes) { return sizes.batch * sizes.hidden; }

hipError_t run_layer(const State& state, Recurrence& layer, const float* x, std::int64_t depth, const float* weight,
                     const float* bias, float* gates, hipStream_t stream) {
  const std::int64_t rows = state.sizes.steps * state.sizes.batch;
  const std::int64_t columns = k_gates * state.sizes.hidden;
  const dim3 grid(static_cast<unsigned>((rows + k_tile - 1) / k_tile),
                  static_cast<unsigned>((columns + k_tile - 1) / k_tile));
  input_gates_kernel<<<grid, dim3(k_tile, k_tile), 0, stream>>>(x, weight, bias, gates, rows, columns, depth);
  const hipError_t status = hipGetLastError();
  if (status != hipSuccess) return status;
  void* arguments[] = {&layer};
  return hipLaunchCooperativeKernel(reinterpret_cast<void*>(recurrence_kernel), dim3(state.blocks), dim3(k_threads),
                                    arguments, state.lds_bytes, stream);
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* h0 = kgen_find(&args->inputs, "h0");
  if (!kgen_is(x, KGEN_FLOAT32, 3) || !kgen_is(h0, KGEN_FLOAT32, 3) ||
      !kgen_is(kgen_find(&args->outputs, "output"), KGEN_FLOAT32, 3)) {
    return kgen_fail(&args->error, "x, h0 and output must be contiguous float32 of rank 3");
  }
  State state{{kgen_dim(x, 0), kgen_dim(x, 1), kgen_dim(h0, 2)}, kgen_dim(h0, 0), 0, 0, 0};
  if (x->element_count == 0 || h0->element_count == 0) return kgen_fail(&args->error, "x and h0 must not be empty");
  for (std::int64_t layer = 0; layer < state.layers; ++layer) {
    const char* problem =
        check_layer(args, layer, layer == 0 ? kgen_dim(x, 2) : state.sizes.hidden, state.sizes.hidden);
    if (problem != nullptr) return kgen_fail(&args->error, problem);
  }
  if (const char* problem = spread_over_blocks(state)) return kgen_fail(&args->error, problem);
  result->workspace_bytes =
      sizeof(float) * static_cast<std::uint64_t>(gate_floats(state.sizes) + sequence_floats(state.sizes) +
                                                 2 * state_floats(state.sizes));
  result->state = new State(state);
  return 0;
}

KGEN_API int kgen_run(void* opaque, const kgen_run_args* args) {
  const State& state = *static_cast<const State*>(opaque);
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const float* h0 = static_cast<const float*>(kgen_find(&args->inputs, "h0")->data);
  float* h_n = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  float* gates = static_cast<float*>(args->workspace);
  // The input of the next layer. Overwriting it is safe: its gates have been computed before the recurrence writes.
  float* sequence = gates + gate_floats(state.sizes);
  float* states = sequence + sequence_floats(state.sizes);
  for (std::int64_t index = 0; index < state.layers; ++index) {
    const std::int64_t offset = index * state_floats(state.sizes);
    const float* input = index == 0 ? static_cast<const float*>(x->data) : sequence;
    const std::int64_t depth = index == 0 ? kgen_dim(x, 2) : state.sizes.hidden;
    Recurrence layer{state.sizes,
                     state.own,
                     gates,
                     parameter_data(args, "weight_hh", index),
                     parameter_data(args, "bias_hh", index),
                     h0 + offset,
                     states,
                     index + 1 == state.layers ? nullptr : sequence,
                     h_n + offset};
    const hipError_t status =
        run_layer(state, layer, input, depth, parameter_data(args, "weight_ih", index),
                  parameter_data(args, "bias_ih", index), gates, static_cast<hipStream_t>(args->stream));
    if (status != hipSuccess) return kgen_fail(&args->error, hipGetErrorString(status));
  }
  return 0;
}

KGEN_API void kgen_destroy(void* state) { delete static_cast<State*>(state); }
