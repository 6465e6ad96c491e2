// Softmax over the last dimension, however long it is: one block per row, running maximum and sum in one pass, then
// the quotients in a second one.
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int k_threads = 512;
constexpr int k_warp = 32;

/// The maximum of some values, and the sum of exp(value - maximum).
struct Part {
  float maximum;
  float sum;
};

__device__ __forceinline__ Part join(Part a, Part b) {
  const float maximum = fmaxf(a.maximum, b.maximum);
  if (maximum == -INFINITY) return {maximum, 0.0f};
  return {maximum, a.sum * expf(a.maximum - maximum) + b.sum * expf(b.maximum - maximum)};
}

__device__ Part join_warp(Part part) {
  for (int offset = k_warp / 2; offset > 0; offset /= 2) {
    const Part other = {__shfl_xor_sync(0xFFFFFFFFu, part.maximum, offset),
                        __shfl_xor_sync(0xFFFFFFFFu, part.sum, offset)};
    part = join(part, other);
  }
  return part;
}

__global__ void softmax_rows(const float* __restrict__ x, float* __restrict__ y, int64_t columns) {
  __shared__ Part parts[k_threads / k_warp];
  const float* row = x + blockIdx.x * columns;
  float* result = y + blockIdx.x * columns;
  Part part = {-INFINITY, 0.0f};
  for (int64_t i = threadIdx.x; i < columns; i += k_threads) {
    const float value = row[i];
    if (value > part.maximum) {
      part = {value, part.sum * expf(part.maximum - value) + 1.0f};
    } else {
      part.sum += expf(value - part.maximum);
    }
  }
  part = join_warp(part);
  if (threadIdx.x % k_warp == 0) parts[threadIdx.x / k_warp] = part;
  __syncthreads();
  part = {-INFINITY, 0.0f};
  for (const Part& other : parts) part = join(part, other);
  const float scale = 1.0f / part.sum;
  for (int64_t i = threadIdx.x; i < columns; i += k_threads) result[i] = expf(row[i] - part.maximum) * scale;
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  if (x == nullptr || x->rank < 1 || !kgen_is(x, KGEN_FLOAT32, x->rank))
    return kgen_fail(&args->error, "a contiguous float32 input is needed");
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const int64_t columns = kgen_dim(x, -1);
  const auto rows = static_cast<unsigned>(columns > 0 ? static_cast<int64_t>(x->element_count) / columns : 0);
  if (rows > 0)
    softmax_rows<<<rows, k_threads, 0, static_cast<cudaStream_t>(args->stream)>>>(
        static_cast<const float*>(x->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data), columns);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(error));
}

KGEN_API void kgen_destroy(void*) {}
