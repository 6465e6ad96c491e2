// BatchNorm2d in training mode: statistics of this batch, per channel. The first kernel finds mean and sum of squared
// deviations of every plane (one image, one channel); the second merges the planes of its channel and normalizes. The
// running averages play no part in the output, and buffers are read-only for a candidate.
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

/// Neighbours that a thread loads by one instruction.
template <int k_width>
struct alignas(k_width * sizeof(float)) Pack {
  float of[k_width];
};

struct Moments {
  float count;
  float mean;
  float squares;  // of deviations from the mean
};

/// The moments of two sets together (Chan, Golub and LeVeque): nothing cancels.
__device__ Moments merge(Moments a, Moments b) {
  const float count = a.count + b.count;
  if (count == 0.0f) return a;
  const float share = b.count / count;
  const float apart = b.mean - a.mean;
  return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * a.count * share};
}

/// The same for all threads of the block.
__device__ Moments merge_over_block(Moments value) {
  __shared__ Moments groups[k_groups];
  for (int offset = k_group / 2; offset > 0; offset /= 2) {
    const Moments other{__shfl_xor(value.count, offset, k_group), __shfl_xor(value.mean, offset, k_group),
                        __shfl_xor(value.squares, offset, k_group)};
    // In the same order on both sides, so that all lanes end with the same bits.
    value = (threadIdx.x & offset) == 0 ? merge(value, other) : merge(other, value);
  }
  if (threadIdx.x % k_group == 0) groups[threadIdx.x / k_group] = value;
  __syncthreads();
  value = groups[0];
  for (int i = 1; i < k_groups; ++i) value = merge(value, groups[i]);
  return value;
}

/// Block (image, channel). Two passes over the plane; the second finds it in the cache.
template <int k_width>
__global__ void __launch_bounds__(k_threads)
    planes_kernel(const float* __restrict__ x, Moments* __restrict__ planes, std::int64_t plane) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * gridDim.y + blockIdx.y;
  const auto* from = reinterpret_cast<const Pack<k_width>*>(x + index * plane);
  const std::int64_t packs = plane / k_width;
  Moments own{0.0f, 0.0f, 0.0f};
  for (std::int64_t i = threadIdx.x; i < packs; i += k_threads) {
    const Pack<k_width> pack = from[i];
    for (const float value : pack.of) own.mean += value;
    own.count += k_width;
  }
  if (own.count > 0.0f) own.mean /= own.count;
  for (std::int64_t i = threadIdx.x; i < packs; i += k_threads) {
    const Pack<k_width> pack = from[i];
    for (const float value : pack.of) own.squares += (value - own.mean) * (value - own.mean);
  }
  own = merge_over_block(own);
  // By channel, so that the second kernel reads neighbours.
  if (threadIdx.x == 0) planes[static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x] = own;
}

template <int k_width>
__global__ void __launch_bounds__(k_threads)
    normalize_kernel(const float* __restrict__ x, const Moments* __restrict__ planes, const float* __restrict__ weight,
                     const float* __restrict__ bias, float* __restrict__ y, std::int64_t plane) {
  const unsigned channel = blockIdx.y;
  Moments total{0.0f, 0.0f, 0.0f};
  for (unsigned i = threadIdx.x; i < gridDim.x; i += k_threads) {
    total = merge(total, planes[static_cast<std::int64_t>(channel) * gridDim.x + i]);
  }
  total = merge_over_block(total);
  const float scale = weight[channel] / sqrtf(total.squares / total.count + k_epsilon);
  const float shift = bias[channel];
  const std::int64_t begin = (static_cast<std::int64_t>(blockIdx.x) * gridDim.y + channel) * plane;
  const auto* from = reinterpret_cast<const Pack<k_width>*>(x + begin);
  auto* to = reinterpret_cast<Pack<k_width>*>(y + begin);
  for (std::int64_t i = threadIdx.x; i < plane / k_width; i += k_threads) {
    Pack<k_width> pack = from[i];
    for (float& value : pack.of) value = (value - total.mean) * scale + shift;
    to[i] = pack;
  }
}

template <int k_width>
void launch(const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "x");
  const float* x = static_cast<const float*>(input->data);
  const float* weight = static_cast<const float*>(kgen_find(&args->parameters, "bn.weight")->data);
  const float* bias = static_cast<const float*>(kgen_find(&args->parameters, "bn.bias")->data);
  float* y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  auto* planes = static_cast<Moments*>(args->workspace);
  const auto stream = static_cast<hipStream_t>(args->stream);
  const std::int64_t plane = kgen_dim(input, 2) * kgen_dim(input, 3);
  const dim3 grid(static_cast<unsigned>(kgen_dim(input, 0)), static_cast<unsigned>(kgen_dim(input, 1)));
  planes_kernel<k_width><<<grid, k_threads, 0, stream>>>(x, planes, plane);
  normalize_kernel<k_width><<<grid, k_threads, 0, stream>>>(x, planes, weight, bias, y, plane);
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* weight = kgen_find(&args->parameters, "bn.weight");
  const kgen_tensor* bias = kgen_find(&args->parameters, "bn.bias");
  if (!kgen_is(x, KGEN_FLOAT32, 4) || !kgen_is(kgen_find(&args->outputs, "output"), KGEN_FLOAT32, 4)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32 (batch, channels, height, width)");
  }
  if (!kgen_is(weight, KGEN_FLOAT32, 1) || !kgen_is(bias, KGEN_FLOAT32, 1) || kgen_dim(weight, 0) != kgen_dim(x, 1) ||
      kgen_dim(bias, 0) != kgen_dim(x, 1)) {
    return kgen_fail(&args->error, "bn.weight and bn.bias must have one element per channel");
  }
  if (kgen_dim(x, 1) > 65535) return kgen_fail(&args->error, "this kernel is for at most 65535 channels");
  result->workspace_bytes = static_cast<std::uint64_t>(kgen_dim(x, 0) * kgen_dim(x, 1)) * sizeof(Moments);
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  if (x->element_count == 0) return 0;
  if (kgen_dim(x, 2) * kgen_dim(x, 3) % 4 == 0) {
    launch<4>(args);
  } else {
    launch<1>(args);
  }
  const hipError_t status = hipGetLastError();
  return status == hipSuccess ? 0 : kgen_fail(&args->error, hipGetErrorString(status));
}

KGEN_API void kgen_destroy(void*) {}
