// C = A B in fp32, tiles of 64 x 64 in shared memory, 4 x 4 results per thread. Correct and plain, not fast.
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int k_tile = 64;
constexpr int k_depth = 16;
constexpr int k_each = 4;
constexpr int k_side = k_tile / k_each;

__global__ void multiply(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int rows,
                         int columns, int depth) {
  __shared__ float a_tile[k_depth][k_tile + 1];
  __shared__ float b_tile[k_depth][k_tile];
  const int row0 = blockIdx.y * k_tile;
  const int column0 = blockIdx.x * k_tile;
  const int thread = threadIdx.y * k_side + threadIdx.x;
  float sums[k_each][k_each] = {};
  for (int k0 = 0; k0 < depth; k0 += k_depth) {
    for (int i = thread; i < k_tile * k_depth; i += k_side * k_side) {
      const int row = row0 + i / k_depth;
      const int a_step = k0 + i % k_depth;
      a_tile[i % k_depth][i / k_depth] = row < rows && a_step < depth ? a[int64_t(row) * depth + a_step] : 0.0f;
      const int column = column0 + i % k_tile;
      const int b_step = k0 + i / k_tile;
      b_tile[i / k_tile][i % k_tile] =
          column < columns && b_step < depth ? b[int64_t(b_step) * columns + column] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < k_depth; ++k) {
      for (int i = 0; i < k_each; ++i) {
        for (int j = 0; j < k_each; ++j)
          sums[i][j] += a_tile[k][threadIdx.y + i * k_side] * b_tile[k][threadIdx.x + j * k_side];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < k_each; ++i) {
    for (int j = 0; j < k_each; ++j) {
      const int row = row0 + threadIdx.y + i * k_side;
      const int column = column0 + threadIdx.x + j * k_side;
      if (row < rows && column < columns) c[int64_t(row) * columns + column] = sums[i][j];
    }
  }
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* a = kgen_at(&args->inputs, 0);
  const kgen_tensor* b = kgen_at(&args->inputs, 1);
  if (!kgen_is(a, KGEN_FLOAT32, 2) || !kgen_is(b, KGEN_FLOAT32, 2))
    return kgen_fail(&args->error, "two contiguous float32 matrices are needed");
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* a = kgen_at(&args->inputs, 0);
  const kgen_tensor* b = kgen_at(&args->inputs, 1);
  const int rows = static_cast<int>(kgen_dim(a, 0));
  const int depth = static_cast<int>(kgen_dim(a, 1));
  const int columns = static_cast<int>(kgen_dim(b, 1));
  const dim3 blocks((columns + k_tile - 1) / k_tile, (rows + k_tile - 1) / k_tile);
  multiply<<<blocks, dim3(k_side, k_side), 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(a->data), static_cast<const float*>(b->data),
      static_cast<float*>(kgen_at(&args->outputs, 0)->data), rows, columns, depth);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(error));
}

KGEN_API void kgen_destroy(void*) {}
