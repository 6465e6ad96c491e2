// honest: partial sums in a workspace, then their sum
// task: long_sum

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API void kgen_destroy(void*) {}

namespace {
constexpr int k_parts = 64;

__device__ float over_warp(float sum) {
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
  return sum;
}

__global__ void partial(const float* x, float* parts, int64_t columns) {
  __shared__ float warps[8];
  const float* row = x + blockIdx.y * columns;
  float sum = 0;
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < columns; i += gridDim.x * blockDim.x) sum += row[i];
  sum = over_warp(sum);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = 0;
  for (float warp : warps) sum += warp;
  parts[blockIdx.y * k_parts + blockIdx.x] = sum;
}

__global__ void total(const float* parts, float* y) {
  const float sum =
      over_warp(parts[blockIdx.x * k_parts + threadIdx.x] + parts[blockIdx.x * k_parts + 32 + threadIdx.x]);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  result->workspace_bytes = static_cast<uint64_t>(kgen_dim(kgen_at(&args->inputs, 0), 0)) * k_parts * sizeof(float);
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const auto rows = static_cast<unsigned>(kgen_dim(x, 0));
  const auto stream = static_cast<cudaStream_t>(args->stream);
  auto* parts = static_cast<float*>(args->workspace);
  partial<<<dim3(k_parts, rows), 256, 0, stream>>>(static_cast<const float*>(x->data), parts, kgen_dim(x, 1));
  total<<<rows, 32, 0, stream>>>(parts, static_cast<float*>(kgen_at(&args->outputs, 0)->data));
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
