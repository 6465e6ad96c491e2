// Sum over one dimension that is kept with length 1. A thread owns one output; several row groups of a block share the
// long dimension, then add what they found.
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int k_columns = 32;
constexpr int k_groups = 8;

/// x is [outer, length, inner], y is [outer, inner].
__global__ void sum_middle(const float* __restrict__ x, float* __restrict__ y, int64_t length, int64_t inner) {
  __shared__ float partial[k_groups][k_columns];
  const int64_t column = static_cast<int64_t>(blockIdx.x) * k_columns + threadIdx.x;
  float total = 0.0f;
  if (column < inner) {
    const float* from = x + blockIdx.y * length * inner + column;
    for (int64_t i = threadIdx.y; i < length; i += k_groups) total += from[i * inner];
  }
  partial[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y != 0 || column >= inner) return;
  for (int group = 1; group < k_groups; ++group) total += partial[group][threadIdx.x];
  y[blockIdx.y * inner + column] = total;
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  if (x == nullptr || x->rank != 3 || !kgen_is(x, KGEN_FLOAT32, 3))
    return kgen_fail(&args->error, "a contiguous float32 input of rank 3 is needed");
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const int64_t outer = kgen_dim(x, 0);
  const int64_t length = kgen_dim(x, 1);
  const int64_t inner = kgen_dim(x, 2);
  const dim3 blocks(static_cast<unsigned>((inner + k_columns - 1) / k_columns), static_cast<unsigned>(outer));
  sum_middle<<<blocks, dim3(k_columns, k_groups), 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(x->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data), length, inner);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(error));
}

KGEN_API void kgen_destroy(void*) {}
