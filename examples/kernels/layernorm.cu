// Layer normalization over the last dimension, a block for each row. The row is read three times, from the first cache
// from the second time on: mean, then deviations from it, then the result.
#include <cstdint>

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr float k_epsilon = 1e-5f;  // torch's default; the task does not hand it over as an argument
constexpr int k_threads = 256;
constexpr int k_warps = k_threads / 32;

/// The sums over the block, the same for all threads.
__device__ float2 sum_over_block(float2 value) {
  __shared__ float2 warps[k_warps];
  for (int offset = 16; offset > 0; offset /= 2) {
    value.x += __shfl_xor_sync(~0u, value.x, offset);
    value.y += __shfl_xor_sync(~0u, value.y, offset);
  }
  __syncthreads();  // the sums before these have been read
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[0];
  for (int i = 1; i < k_warps; ++i) {
    value.x += warps[i].x;
    value.y += warps[i].y;
  }
  return value;
}

__global__ void __launch_bounds__(k_threads)
    layernorm_kernel(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                     float* __restrict__ y, std::int64_t columns) {
  const float* from = x + blockIdx.x * columns;
  float* to = y + blockIdx.x * columns;
  const float count = static_cast<float>(columns);
  float2 sums{0.0f, 0.0f};
  for (std::int64_t i = threadIdx.x; i < columns; i += k_threads) sums.x += from[i];
  const float mean = sum_over_block(sums).x / count;
  // The deviations sum up to what rounding took from the mean: a row with a large offset loses nothing.
  sums = {0.0f, 0.0f};
  for (std::int64_t i = threadIdx.x; i < columns; i += k_threads) {
    const float deviation = from[i] - mean;
    sums.x += deviation;
    sums.y += deviation * deviation;
  }
  sums = sum_over_block(sums);
  const float rest = sums.x / count;
  const float variance = fmaxf(sums.y / count - rest * rest, 0.0f);
  const float scale = 1.0f / sqrtf(variance + k_epsilon);
  for (std::int64_t i = threadIdx.x; i < columns; i += k_threads) {
    to[i] = (from[i] - mean - rest) * scale * weight[i] + bias[i];
  }
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
  if (args->device != KGEN_DEVICE_CUDA) return kgen_fail(&args->error, "this kernel needs a CUDA device");
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "x");
  if (input->element_count == 0) return 0;
  const float* x = static_cast<const float*>(input->data);
  const float* weight = static_cast<const float*>(kgen_find(&args->parameters, "norm.weight")->data);
  const float* bias = static_cast<const float*>(kgen_find(&args->parameters, "norm.bias")->data);
  float* y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  const std::int64_t columns = kgen_dim(input, -1);
  const auto rows = static_cast<unsigned>(static_cast<std::int64_t>(input->element_count) / columns);
  layernorm_kernel<<<rows, k_threads, 0, static_cast<cudaStream_t>(args->stream)>>>(x, weight, bias, y, columns);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(status));
}

KGEN_API void kgen_destroy(void*) {}
