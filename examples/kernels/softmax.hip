// Softmax along the last dimension, for rows that are longer than a block: every row is cut into chunks of one block
// each. The first kernel finds the maximum of each chunk and its sum of exp(x - maximum); the second merges the chunks
// of its row and writes. Its reads find most of x in the last cache.
//
// Lanes exchange values in groups of 32, which a wavefront of 64 lanes has two of and one of 32 lanes has one of.
#include <cmath>
#include <cstdint>

#include <hip/hip_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int k_threads = 256;
constexpr int k_group = 32;  // lanes
constexpr int k_groups = k_threads / k_group;
constexpr int k_values = 16;  // of one thread, in registers: so many loads are under way at once
constexpr std::int64_t k_chunk = static_cast<std::int64_t>(k_threads) * k_values;

/// Neighbours that a thread loads by one instruction.
template <int k_width>
struct alignas(k_width * sizeof(float)) Pack {
  float of[k_width];
};

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

/// The same for all threads of the block.
__device__ Part merge_over_block(Part part) {
  __shared__ Part groups[k_groups];
  for (int offset = k_group / 2; offset > 0; offset /= 2) {
    const Part other{__shfl_xor(part.maximum, offset, k_group), __shfl_xor(part.sum, offset, k_group)};
    part = merge(part, other);
  }
  if (threadIdx.x % k_group == 0) groups[threadIdx.x / k_group] = part;
  __syncthreads();
  part = groups[0];
  for (int i = 1; i < k_groups; ++i) part = merge(part, groups[i]);
  return part;
}

/// The packs of this thread begin k_threads packs apart.
template <int k_width>
__device__ std::int64_t column_of(int pack) {
  return static_cast<std::int64_t>(blockIdx.x) * k_chunk + (pack * k_threads + static_cast<int>(threadIdx.x)) * k_width;
}

/// Block (chunk, row).
template <int k_width>
__global__ void __launch_bounds__(k_threads)
    parts_kernel(const float* __restrict__ x, Part* __restrict__ parts, std::int64_t columns) {
  constexpr int k_packs = k_values / k_width;
  const std::int64_t row = blockIdx.y;
  const float* from = x + row * columns;
  float values[k_values];
  Part part{-INFINITY, 0.0f};
#pragma unroll
  for (int i = 0; i < k_packs; ++i) {
    const std::int64_t column = column_of<k_width>(i);
    Pack<k_width> pack;
    for (float& value : pack.of) value = -INFINITY;
    if (column < columns) pack = *reinterpret_cast<const Pack<k_width>*>(from + column);
#pragma unroll
    for (int j = 0; j < k_width; ++j) values[i * k_width + j] = pack.of[j];
  }
#pragma unroll
  for (int i = 0; i < k_values; ++i) part.maximum = fmaxf(part.maximum, values[i]);
  const float shift = finite_or_zero(part.maximum);
#pragma unroll
  for (int i = 0; i < k_values; ++i) part.sum += expf(values[i] - shift);
  part = merge_over_block(part);
  if (threadIdx.x == 0) parts[row * gridDim.x + blockIdx.x] = part;
}

template <int k_width>
__global__ void __launch_bounds__(k_threads) write_kernel(const float* __restrict__ x, const Part* __restrict__ parts,
                                                          float* __restrict__ y, std::int64_t columns) {
  const std::int64_t row = blockIdx.y;
  Part total{-INFINITY, 0.0f};
  for (unsigned i = threadIdx.x; i < gridDim.x; i += k_threads) total = merge(total, parts[row * gridDim.x + i]);
  total = merge_over_block(total);
  const float scale = 1.0f / total.sum;
  const float shift = finite_or_zero(total.maximum);
#pragma unroll
  for (int i = 0; i < k_values / k_width; ++i) {
    const std::int64_t column = column_of<k_width>(i);
    if (column >= columns) continue;
    auto pack = *reinterpret_cast<const Pack<k_width>*>(x + row * columns + column);
    for (float& value : pack.of) value = expf(value - shift) * scale;
    *reinterpret_cast<Pack<k_width>*>(y + row * columns + column) = pack;
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

template <int k_width>
void launch(const float* x, Part* parts, float* y, const Shape& shape, hipStream_t stream) {
  const dim3 grid(static_cast<unsigned>(shape.chunks), static_cast<unsigned>(shape.rows));
  parts_kernel<k_width><<<grid, k_threads, 0, stream>>>(x, parts, shape.columns);
  write_kernel<k_width><<<grid, k_threads, 0, stream>>>(x, parts, y, shape.columns);
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* y = kgen_find(&args->outputs, "output");
  if (x == nullptr || y == nullptr || x->rank < 1) return kgen_fail(&args->error, "x or output is missing");
  if (!kgen_is(x, KGEN_FLOAT32, x->rank) || !kgen_is(y, KGEN_FLOAT32, x->rank)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32");
  }
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
  const auto stream = static_cast<hipStream_t>(args->stream);
  const Shape shape = shape_of(input);
  if (shape.columns % 4 == 0) {
    launch<4>(x, parts, y, shape, stream);
  } else {
    launch<1>(x, parts, y, shape, stream);
  }
  const hipError_t status = hipGetLastError();
  return status == hipSuccess ? 0 : kgen_fail(&args->error, hipGetErrorString(status));
}

KGEN_API void kgen_destroy(void*) {}
