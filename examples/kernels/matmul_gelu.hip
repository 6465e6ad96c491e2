// gelu(x @ weight.T + bias) in full float32: tiles of x and of the weights go through LDS, every thread sums a 4 x 4
// square of the result in registers. The next tiles are loaded while the present ones are multiplied.
//
// A tile of the result is small, so that there are blocks for all compute units. Its 64 squares would be one wavefront;
// instead, k_parts wavefronts share the depth of each tile and add up what they have at the end.
#include <cstdint>

#include <hip/hip_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int k_tile = 32;  // rows and columns of the result
constexpr int k_square = 4;
constexpr int k_squares = k_tile / k_square;  // in each direction
constexpr int k_parts = 4;
constexpr int k_threads = k_squares * k_squares * k_parts;
constexpr int k_quads = k_threads / k_tile;  // of one row of a tile: each thread loads one
constexpr int k_depth = 4 * k_quads;         // of the sum, in one tile
constexpr int k_part_depth = k_depth / k_parts;
constexpr int k_stride = k_tile + 4;  // padded against bank conflicts while storing

/// x times the normal distribution function.
__device__ float gelu(float x) { return x * normcdff(x); }

/// Elements k to k + 3 of a row of a matrix with `depth` columns; 0 outside, so that tiles may stick out.
__device__ float4 load_quad(const float* __restrict__ matrix, std::int64_t row, std::int64_t k, std::int64_t rows,
                            std::int64_t depth) {
  if (row >= rows) return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  const float* from = matrix + row * depth + k;
  if (depth % 4 == 0 && k < depth) return *reinterpret_cast<const float4*>(from);
  return make_float4(k < depth ? from[0] : 0.0f, k + 1 < depth ? from[1] : 0.0f, k + 2 < depth ? from[2] : 0.0f,
                     k + 3 < depth ? from[3] : 0.0f);
}

/// Stores a quad of a row transposed, so that a thread later reads four neighbouring rows at once.
__device__ void store_quad(float (*tile)[k_stride], int row, int k, float4 quad) {
  tile[k][row] = quad.x;
  tile[k + 1][row] = quad.y;
  tile[k + 2][row] = quad.z;
  tile[k + 3][row] = quad.w;
}

__device__ void add_products(float (&sums)[k_square][k_square], float4 a, float4 b) {
  const float left[k_square] = {a.x, a.y, a.z, a.w};
  const float right[k_square] = {b.x, b.y, b.z, b.w};
#pragma unroll
  for (int i = 0; i < k_square; ++i) {
#pragma unroll
    for (int j = 0; j < k_square; ++j) sums[i][j] += left[i] * right[j];
  }
}

/// y is (rows, columns), x (rows, depth), weight (columns, depth).
__global__ void __launch_bounds__(k_threads)
    linear_gelu_kernel(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                       float* __restrict__ y, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  __shared__ __attribute__((aligned(16))) float x_tile[k_depth][k_stride];
  __shared__ __attribute__((aligned(16))) float weight_tile[k_depth][k_stride];
  __shared__ float parts[k_parts][k_tile][k_tile + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const int part = thread / (k_squares * k_squares);
  const int square_row = thread / k_squares % k_squares * k_square;
  const int square_column = thread % k_squares * k_square;
  const int load_row = thread / k_quads;
  const int load_k = thread % k_quads * 4;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * k_tile;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * k_tile;

  float sums[k_square][k_square] = {};
  float4 x_next = load_quad(x, first_row + load_row, load_k, rows, depth);
  float4 weight_next = load_quad(weight, first_column + load_row, load_k, columns, depth);
  for (std::int64_t from = 0; from < depth; from += k_depth) {
    store_quad(x_tile, load_row, load_k, x_next);
    store_quad(weight_tile, load_row, load_k, weight_next);
    __syncthreads();
    if (from + k_depth < depth) {
      x_next = load_quad(x, first_row + load_row, from + k_depth + load_k, rows, depth);
      weight_next = load_quad(weight, first_column + load_row, from + k_depth + load_k, columns, depth);
    }
#pragma unroll
    for (int k = part * k_part_depth; k < (part + 1) * k_part_depth; ++k) {
      add_products(sums, *reinterpret_cast<const float4*>(&x_tile[k][square_row]),
                   *reinterpret_cast<const float4*>(&weight_tile[k][square_column]));
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < k_square; ++i) {
#pragma unroll
    for (int j = 0; j < k_square; ++j) parts[part][square_row + i][square_column + j] = sums[i][j];
  }
  __syncthreads();
  // Neighbouring threads write neighbouring columns.
  for (int at = thread; at < k_tile * k_tile; at += k_threads) {
    const std::int64_t row = first_row + at / k_tile;
    const std::int64_t column = first_column + at % k_tile;
    if (row >= rows || column >= columns) continue;
    float sum = bias[column];
#pragma unroll
    for (int i = 0; i < k_parts; ++i) sum += parts[i][at / k_tile][at % k_tile];
    y[row * columns + column] = gelu(sum);
  }
}

unsigned tiles(std::int64_t length) { return static_cast<unsigned>((length + k_tile - 1) / k_tile); }

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
  if (tiles(kgen_dim(x, 0)) > 65535) return kgen_fail(&args->error, "x has too many rows");
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
  linear_gelu_kernel<<<dim3(tiles(columns), tiles(rows)), k_threads, 0, static_cast<hipStream_t>(args->stream)>>>(
      x, weight, bias, static_cast<float*>(output->data), rows, columns, kgen_dim(input, 1));
  const hipError_t status = hipGetLastError();
  return status == hipSuccess ? 0 : kgen_fail(&args->error, hipGetErrorString(status));
}

KGEN_API void kgen_destroy(void*) {}
