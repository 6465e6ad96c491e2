// Softmax over rows, right: one block per row, which it keeps in shared memory.
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int k_threads = 256;

template <class Join>
__device__ float over_block(float value, Join join) {
  __shared__ float parts[k_threads / 32];
  for (int offset = 16; offset > 0; offset /= 2) value = join(value, __shfl_xor_sync(0xFFFFFFFFu, value, offset));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
  for (int i = 1; i < k_threads / 32; ++i) value = join(value, parts[i]);
  __syncthreads();
  return value;
}

__global__ void softmax(const float* x, float* y, int columns) {
  extern __shared__ float row[];
  const float* from = x + static_cast<int64_t>(blockIdx.x) * columns;
  float* to = y + static_cast<int64_t>(blockIdx.x) * columns;
  float maximum = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += k_threads) {
    row[i] = from[i];
    maximum = fmaxf(maximum, row[i]);
  }
  maximum = over_block(maximum, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += k_threads) {
    row[i] = expf(row[i] - maximum);
    sum += row[i];
  }
  sum = over_block(sum, [](float a, float b) { return a + b; });
  for (int i = threadIdx.x; i < columns; i += k_threads) to[i] = row[i] / sum;
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const auto bytes = static_cast<int>(kgen_dim(kgen_at(&args->inputs, 0), -1) * sizeof(float));
  const cudaError_t error = cudaFuncSetAttribute(softmax, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  return error == cudaSuccess ? 0 : kgen_fail(&args->error, "a row does not fit into shared memory");
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const auto columns = static_cast<int>(kgen_dim(x, -1));
  const auto rows = static_cast<unsigned>(static_cast<int64_t>(x->element_count) / columns);
  softmax<<<rows, k_threads, columns * sizeof(float), static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(x->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data), columns);
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}

KGEN_API void kgen_destroy(void*) {}
