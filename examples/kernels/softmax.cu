// Softmax along the last dimension, for rows that are longer than a block: every row is cut into chunks of one block
// each. The first kernel finds the maximum of each chunk and its sum of exp(x - maximum); the second merges the chunks
// of its row and writes. Its reads find most of x in the L2 cache.
#include <cstdint>

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int k_threads = 256;
constexpr int k_warps = k_threads / 32;
constexpr int k_values = 16;  // of one thread, in registers: so many loads are under way at once
constexpr std::int64_t k_chunk = static_cast<std::int64_t>(k_threads) * k_values;

/// The maximum of a chunk, and its sum of exp(x - maximum).
struct Part {
  float maximum;
  float sum;
};

/// The value to subtract before exp. A chunk of -inf only has the sum 0, not NaN.
__device__ float finite_or_zero(float maximum) { return maximum == -INFINITY ? 0.0f : maximum; }

__device__ Part merge(Part a, Part b) {
  const float maximum = fmaxf(a.maximum, b.maximum);
  const float shift = finite_or_zero(maximum);
  return {maximum, a.sum * expf(a.maximum - shift) + b.sum * expf(b.maximum - shift)};
}

__device__ Part merge_over_warp(Part part) {
  for (int offset = 16; offset > 0; offset /= 2) {
    const Part other{__shfl_xor_sync(~0u, part.maximum, offset), __shfl_xor_sync(~0u, part.sum, offset)};
    part = merge(part, other);
  }
  return part;
}

/// The same for all threads of the block.
__device__ Part merge_over_block(Part part) {
  __shared__ Part warps[k_warps];
  part = merge_over_warp(part);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = part;
  __syncthreads();
  part = warps[0];
  for (int i = 1; i < k_warps; ++i) part = merge(part, warps[i]);
  return part;
}

/// Block (chunk, row).
__global__ void __launch_bounds__(k_threads)
    parts_kernel(const float* __restrict__ x, Part* __restrict__ parts, std::int64_t columns) {
  const std::int64_t row = blockIdx.y;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * k_chunk + threadIdx.x;
  const float* from = x + row * columns;
  float values[k_values];
  Part part{-INFINITY, 0.0f};
#pragma unroll
  for (int i = 0; i < k_values; ++i) {
    const std::int64_t column = begin + static_cast<std::int64_t>(i) * k_threads;
    values[i] = column < columns ? from[column] : -INFINITY;
  }
#pragma unroll
  for (int i = 0; i < k_values; ++i) part.maximum = fmaxf(part.maximum, values[i]);
  const float shift = finite_or_zero(part.maximum);
#pragma unroll
  for (int i = 0; i < k_values; ++i) part.sum += expf(values[i] - shift);
  part = merge_over_block(part);
  if (threadIdx.x == 0) parts[row * gridDim.x + blockIdx.x] = part;
}

__global__ void __launch_bounds__(k_threads) write_kernel(const float* __restrict__ x, const Part* __restrict__ parts,
                                                          float* __restrict__ y, std::int64_t columns) {
  const std::int64_t row = blockIdx.y;
  Part total{-INFINITY, 0.0f};
  for (unsigned i = threadIdx.x; i < gridDim.x; i += k_threads) total = merge(total, parts[row * gridDim.x + i]);
  total = merge_over_block(total);
  const float scale = 1.0f / total.sum;
  const float shift = finite_or_zero(total.maximum);
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * k_chunk + threadIdx.x;
#pragma unroll
  for (int i = 0; i < k_values; ++i) {
    const std::int64_t column = begin + static_cast<std::int64_t>(i) * k_threads;
    if (column < columns) y[row * columns + column] = expf(x[row * columns + column] - shift) * scale;
  }
}

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t chunks;
};

Shape shape_of(const kgen_tensor* x) {
  const std::int64_t columns = kgen_dim(x, -1);
  const std::int64_t rows = columns > 0 ? static_cast<std::int64_t>(x->element_count) / columns : 0;
  return {rows, columns, (columns + k_chunk - 1) / k_chunk};
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* y = kgen_find(&args->outputs, "output");
  if (x == nullptr || y == nullptr || x->rank < 1) return kgen_fail(&args->error, "x or output is missing");
  if (!kgen_is(x, KGEN_FLOAT32, x->rank) || !kgen_is(y, KGEN_FLOAT32, x->rank)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32");
  }
  if (args->device != KGEN_DEVICE_CUDA) return kgen_fail(&args->error, "this kernel needs a CUDA device");
  const Shape shape = shape_of(x);
  if (shape.rows > 65535) return kgen_fail(&args->error, "this kernel is for at most 65535 rows");
  result->workspace_bytes = static_cast<std::uint64_t>(shape.rows * shape.chunks) * sizeof(Part);
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "x");
  if (input->element_count == 0) return 0;
  const float* x = static_cast<const float*>(input->data);
  float* y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  auto* parts = static_cast<Part*>(args->workspace);
  const auto stream = static_cast<cudaStream_t>(args->stream);
  const Shape shape = shape_of(input);
  const dim3 grid(static_cast<unsigned>(shape.chunks), static_cast<unsigned>(shape.rows));
  parts_kernel<<<grid, k_threads, 0, stream>>>(x, parts, shape.columns);
  write_kernel<<<grid, k_threads, 0, stream>>>(x, parts, y, shape.columns);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(status));
}

KGEN_API void kgen_destroy(void*) {}
