// gelu(x @ weight.T + bias) in full float32: tiles of x and of the weights go through shared memory, every thread sums
// a 4 x 4 square of the result in registers. The next tiles are loaded while the present ones are multiplied.
#include <cstdint>

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int k_tile_rows = 32;
constexpr int k_tile_columns = 64;
constexpr int k_depth = 16;  // of the sum, in one tile
constexpr int k_square = 4;
constexpr int k_threads = k_tile_rows / k_square * (k_tile_columns / k_square);
constexpr int k_x_loads = k_tile_rows * k_depth / k_threads;
constexpr int k_weight_loads = k_tile_columns * k_depth / k_threads;

/// x times the normal distribution function.
__device__ float gelu(float x) { return x * normcdff(x); }

/// Element (row, k) of a matrix with `depth` columns; 0 outside, so that tiles may stick out.
__device__ float element(const float* __restrict__ matrix, std::int64_t row, std::int64_t k, std::int64_t rows,
                         std::int64_t depth) {
  return row < rows && k < depth ? matrix[row * depth + k] : 0.0f;
}

/// y is (rows, columns), x (rows, depth), weight (columns, depth).
__global__ void __launch_bounds__(k_threads)
    linear_gelu_kernel(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                       float* __restrict__ y, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  // Transposed, so that a thread reads its four neighbours at once; padded against bank conflicts while storing.
  __shared__ __align__(16) float x_tile[k_depth][k_tile_rows + 4];
  __shared__ __align__(16) float weight_tile[k_depth][k_tile_columns + 4];
  const int thread = static_cast<int>(threadIdx.x);
  const int square_row = thread / (k_tile_columns / k_square) * k_square;
  const int square_column = thread % (k_tile_columns / k_square) * k_square;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * k_tile_rows;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * k_tile_columns;
  float x_next[k_x_loads];
  float weight_next[k_weight_loads];
  const auto load = [&](std::int64_t from) {
#pragma unroll
    for (int i = 0; i < k_x_loads; ++i) {
      const int at = thread + i * k_threads;
      x_next[i] = element(x, first_row + at / k_depth, from + at % k_depth, rows, depth);
    }
#pragma unroll
    for (int i = 0; i < k_weight_loads; ++i) {
      const int at = thread + i * k_threads;
      weight_next[i] = element(weight, first_column + at / k_depth, from + at % k_depth, columns, depth);
    }
  };

  float sums[k_square][k_square] = {};
  load(0);
  for (std::int64_t from = 0; from < depth; from += k_depth) {
#pragma unroll
    for (int i = 0; i < k_x_loads; ++i) {
      const int at = thread + i * k_threads;
      x_tile[at % k_depth][at / k_depth] = x_next[i];
    }
#pragma unroll
    for (int i = 0; i < k_weight_loads; ++i) {
      const int at = thread + i * k_threads;
      weight_tile[at % k_depth][at / k_depth] = weight_next[i];
    }
    __syncthreads();
    if (from + k_depth < depth) load(from + k_depth);
#pragma unroll 4  // more would not fit into the registers
    for (int k = 0; k < k_depth; ++k) {
      const float4 a = *reinterpret_cast<const float4*>(&x_tile[k][square_row]);
      const float4 b = *reinterpret_cast<const float4*>(&weight_tile[k][square_column]);
      const float left[k_square] = {a.x, a.y, a.z, a.w};
      const float right[k_square] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int i = 0; i < k_square; ++i) {
#pragma unroll
        for (int j = 0; j < k_square; ++j) sums[i][j] += left[i] * right[j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < k_square; ++i) {
#pragma unroll
    for (int j = 0; j < k_square; ++j) {
      const std::int64_t row = first_row + square_row + i;
      const std::int64_t column = first_column + square_column + j;
      if (row < rows && column < columns) y[row * columns + column] = gelu(sums[i][j] + bias[column]);
    }
  }
}

unsigned tiles(std::int64_t length, int tile) { return static_cast<unsigned>((length + tile - 1) / tile); }

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* y = kgen_find(&args->outputs, "output");
  const kgen_tensor* weight = kgen_find(&args->parameters, "linear.weight");
  const kgen_tensor* bias = kgen_find(&args->parameters, "linear.bias");
  if (!kgen_is(x, KGEN_FLOAT32, 2) || !kgen_is(y, KGEN_FLOAT32, 2)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32 of rank 2");
  }
  if (!kgen_is(weight, KGEN_FLOAT32, 2) || !kgen_is(bias, KGEN_FLOAT32, 1) || kgen_dim(weight, 1) != kgen_dim(x, 1) ||
      kgen_dim(weight, 0) != kgen_dim(y, 1) || kgen_dim(bias, 0) != kgen_dim(y, 1)) {
    return kgen_fail(&args->error, "linear.weight and linear.bias do not fit x and output");
  }
  if (args->device != KGEN_DEVICE_CUDA) return kgen_fail(&args->error, "this kernel needs a CUDA device");
  if (tiles(kgen_dim(x, 0), k_tile_rows) > 65535) return kgen_fail(&args->error, "x has too many rows");
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "x");
  const kgen_tensor* output = kgen_find(&args->outputs, "output");
  if (output->element_count == 0) return 0;
  const float* x = static_cast<const float*>(input->data);
  const float* weight = static_cast<const float*>(kgen_find(&args->parameters, "linear.weight")->data);
  const float* bias = static_cast<const float*>(kgen_find(&args->parameters, "linear.bias")->data);
  const std::int64_t rows = kgen_dim(output, 0);
  const std::int64_t columns = kgen_dim(output, 1);
  const dim3 grid(tiles(columns, k_tile_columns), tiles(rows, k_tile_rows));
  linear_gelu_kernel<<<grid, k_threads, 0, static_cast<cudaStream_t>(args->stream)>>>(
      x, weight, bias, static_cast<float*>(output->data), rows, columns, kgen_dim(input, 1));
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(status));
}

KGEN_API void kgen_destroy(void*) {}
