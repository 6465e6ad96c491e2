// Layer normalization over the last dimension, a block for each row. A row of up to k_threads * k_kept packs is read
// once and stays in registers; a longer one is read again from the cache. Mean first, then deviations from it.
//
// Lanes exchange values in groups of 32, which a wavefront of 64 lanes has two of and one of 32 lanes has one of.
#include <cmath>
#include <cstdint>

#include <hip/hip_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr float k_epsilon = 1e-5f;  // torch's default; the task does not hand it over as an argument
constexpr int k_threads = 256;
constexpr int k_group = 32;  // lanes
constexpr int k_groups = k_threads / k_group;
constexpr int k_kept = 4;  // packs of one thread in registers

/// Neighbours that a thread loads by one instruction.
template <int k_width>
struct alignas(k_width * sizeof(float)) Pack {
  float of[k_width];
};

/// The sums over the block, the same for all threads.
__device__ float2 sum_over_block(float2 value) {
  __shared__ float2 groups[k_groups];
  for (int offset = k_group / 2; offset > 0; offset /= 2) {
    value.x += __shfl_xor(value.x, offset, k_group);
    value.y += __shfl_xor(value.y, offset, k_group);
  }
  __syncthreads();  // the sums before these have been read
  if (threadIdx.x % k_group == 0) groups[threadIdx.x / k_group] = value;
  __syncthreads();
  value = groups[0];
  for (int i = 1; i < k_groups; ++i) {
    value.x += groups[i].x;
    value.y += groups[i].y;
  }
  return value;
}

/// Calls visit(index, pack) for each pack of this thread in a row. The first ones are in registers.
template <int k_width, class Visit>
__device__ void for_each_pack(const Pack<k_width> (&kept)[k_kept], const Pack<k_width>* row, int packs,
                              const Visit& visit) {
#pragma unroll
  for (int i = 0; i < k_kept; ++i) {
    const int index = i * k_threads + static_cast<int>(threadIdx.x);
    if (index < packs) visit(index, kept[i]);
  }
  for (int index = k_kept * k_threads + static_cast<int>(threadIdx.x); index < packs; index += k_threads) {
    visit(index, row[index]);
  }
}

template <int k_width>
__global__ void __launch_bounds__(k_threads)
    layernorm_kernel(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                     float* __restrict__ y, int columns) {
  using PackOf = Pack<k_width>;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * columns;
  const auto* from = reinterpret_cast<const PackOf*>(x + begin);
  auto* to = reinterpret_cast<PackOf*>(y + begin);
  const int packs = columns / k_width;
  PackOf kept[k_kept];
#pragma unroll
  for (int i = 0; i < k_kept; ++i) {
    const int index = i * k_threads + static_cast<int>(threadIdx.x);
    if (index < packs) kept[i] = from[index];
  }

  const float count = static_cast<float>(columns);
  float2 sums = make_float2(0.0f, 0.0f);
  for_each_pack<k_width>(kept, from, packs, [&](int, const PackOf& pack) {
    for (const float value : pack.of) sums.x += value;
  });
  const float mean = sum_over_block(sums).x / count;
  // The deviations sum up to what rounding took from the mean: a row with a large offset loses nothing.
  sums = make_float2(0.0f, 0.0f);
  for_each_pack<k_width>(kept, from, packs, [&](int, const PackOf& pack) {
    for (const float value : pack.of) {
      const float deviation = value - mean;
      sums.x += deviation;
      sums.y += deviation * deviation;
    }
  });
  sums = sum_over_block(sums);
  const float rest = sums.x / count;
  const float variance = fmaxf(sums.y / count - rest * rest, 0.0f);
  const float scale = 1.0f / sqrtf(variance + k_epsilon);
  for_each_pack<k_width>(kept, from, packs, [&](int index, const PackOf& pack) {
    const PackOf scales = reinterpret_cast<const PackOf*>(weight)[index];
    const PackOf shifts = reinterpret_cast<const PackOf*>(bias)[index];
    PackOf result;
    for (int j = 0; j < k_width; ++j) {
      result.of[j] = (pack.of[j] - mean - rest) * scale * scales.of[j] + shifts.of[j];
    }
    to[index] = result;
  });
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* y = kgen_find(&args->outputs, "output");
  const kgen_tensor* weight = kgen_find(&args->parameters, "norm.weight");
  const kgen_tensor* bias = kgen_find(&args->parameters, "norm.bias");
  if (x == nullptr || y == nullptr || x->rank < 1) return kgen_fail(&args->error, "x or output is missing");
  if (!kgen_is(x, KGEN_FLOAT32, x->rank) || !kgen_is(y, KGEN_FLOAT32, x->rank)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32");
  }
  if (!kgen_is(weight, KGEN_FLOAT32, 1) || !kgen_is(bias, KGEN_FLOAT32, 1) || kgen_dim(weight, 0) != kgen_dim(x, -1) ||
      kgen_dim(bias, 0) != kgen_dim(x, -1)) {
    return kgen_fail(&args->error, "norm.weight and norm.bias must be as long as a row of x");
  }
  if (kgen_dim(x, -1) > 1 << 30) return kgen_fail(&args->error, "the rows of x are too long");
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "x");
  if (input->element_count == 0) return 0;
  const float* x = static_cast<const float*>(input->data);
  const float* weight = static_cast<const float*>(kgen_find(&args->parameters, "norm.weight")->data);
  const float* bias = static_cast<const float*>(kgen_find(&args->parameters, "norm.bias")->data);
  float* y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  const auto stream = static_cast<hipStream_t>(args->stream);
  const auto columns = static_cast<int>(kgen_dim(input, -1));
  const auto rows = static_cast<unsigned>(static_cast<std::int64_t>(input->element_count) / columns);
  if (columns % 4 == 0) {
    layernorm_kernel<4><<<rows, k_threads, 0, stream>>>(x, weight, bias, y, columns);
  } else {
    layernorm_kernel<1><<<rows, k_threads, 0, stream>>>(x, weight, bias, y, columns);
  }
  const hipError_t status = hipGetLastError();
  return status == hipSuccess ? 0 : kgen_fail(&args->error, hipGetErrorString(status));
}

KGEN_API void kgen_destroy(void*) {}
