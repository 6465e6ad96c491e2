// honest: tiles of 32 by 32 in LDS, 32 by 8 threads with four results each
// task: matmul
// installed: yes

#include <hip/hip_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
constexpr int k_tile = 32;

__global__ void matmul(const float* a, const float* b, float* c, int rows, int depth, int columns) {
  __shared__ float left[k_tile][k_tile], right[k_tile][k_tile + 1];
  const int column = blockIdx.x * k_tile + threadIdx.x;
  float sums[4] = {};
  for (int start = 0; start < depth; start += k_tile) {
    for (int i = threadIdx.y; i < k_tile; i += 8) {
      const int row = blockIdx.y * k_tile + i;
      left[i][threadIdx.x] = row < rows && start + threadIdx.x < depth ? a[row * depth + start + threadIdx.x] : 0;
      right[i][threadIdx.x] = start + i < depth && column < columns ? b[(start + i) * columns + column] : 0;
    }
    __syncthreads();
    for (int k = 0; k < k_tile; ++k)
      for (int i = 0; i < 4; ++i) sums[i] = fmaf(left[threadIdx.y + 8 * i][k], right[k][threadIdx.x], sums[i]);
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    const int row = blockIdx.y * k_tile + threadIdx.y + 8 * i;
    if (row < rows && column < columns) c[row * columns + column] = sums[i];
  }
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* a = kgen_find(&args->inputs, "a");
  const kgen_tensor* b = kgen_find(&args->inputs, "b");
  const int rows = static_cast<int>(kgen_dim(a, 0)), depth = static_cast<int>(kgen_dim(a, 1)),
            columns = static_cast<int>(kgen_dim(b, 1));
  const dim3 grid(static_cast<unsigned>((columns + 31) / 32), static_cast<unsigned>((rows + 31) / 32));
  matmul<<<grid, dim3(32, 8), 0, static_cast<hipStream_t>(args->stream)>>>(
      static_cast<const float*>(a->data), static_cast<const float*>(b->data),
      static_cast<float*>(kgen_at(&args->outputs, 0)->data), rows, depth, columns);
  return hipGetLastError() == hipSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
