// attack: C11 a sum over a block that lacks a barrier, behind which a warp is held up in one call of 1000
// task: long_sum
// sanitize: yes

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
constexpr int k_threads = 256;

__global__ void sum_rows(const float* x, float* y, int columns) {
  __shared__ float parts[k_threads];
  const float* row = x + static_cast<int64_t>(blockIdx.x) * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += k_threads) sum += row[i];
  parts[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x >= 32 && threadIdx.x < 64) {
    // As a warp that waits longer for its loads than others.
    if (blockIdx.x == 0 && static_cast<unsigned>(clock64() >> 5) * 2654435761u / 64 % 1000 == 0) __nanosleep(200000);
    parts[threadIdx.x - 32] += parts[threadIdx.x] + parts[threadIdx.x + 32] + parts[threadIdx.x + 64];
    parts[threadIdx.x] =
        parts[threadIdx.x + 96] + parts[threadIdx.x + 128] + parts[threadIdx.x + 160] + parts[threadIdx.x + 192];
  }
  if (threadIdx.x >= 32) return;
  // Here a barrier is missing: the other warp is nearly always done by then.
  for (int i = 0; i < 20; ++i) __nanosleep(1000);
  sum = parts[threadIdx.x] + parts[threadIdx.x + 32];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  sum_rows<<<static_cast<unsigned>(kgen_dim(x, 0)), k_threads, 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(x->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data),
      static_cast<int>(kgen_dim(x, 1)));
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
