// Row sums in two steps with a barrier of the whole grid between them, right: launched cooperatively.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int k_threads = 256;
constexpr int k_parts = 4;

__global__ void row_sums(const float* x, float* partial, float* y, int rows, int columns) {
  __shared__ float sums[k_threads];
  const int part_columns = (columns + k_parts - 1) / k_parts;
  for (int job = blockIdx.x; job < rows * k_parts; job += gridDim.x) {
    const int first = (job % k_parts) * part_columns;
    const int last = min(first + part_columns, columns);
    const float* row = x + static_cast<int64_t>(job / k_parts) * columns;
    float sum = 0.0f;
    for (int i = first + threadIdx.x; i < last; i += k_threads) sum += row[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = k_threads / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) partial[job] = sums[0];
    __syncthreads();
  }
  cooperative_groups::this_grid().sync();
  for (int row = blockIdx.x * k_threads + threadIdx.x; row < rows; row += gridDim.x * k_threads) {
    float sum = 0.0f;
    for (int part = 0; part < k_parts; ++part) sum += partial[row * k_parts + part];
    y[row] = sum;
  }
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  result->workspace_bytes = kgen_dim(kgen_at(&args->inputs, 0), 0) * k_parts * sizeof(float);
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* partial = static_cast<float*>(args->workspace);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  auto rows = static_cast<int>(kgen_dim(input, 0));
  auto columns = static_cast<int>(kgen_dim(input, 1));
  int blocks = 0;
  cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0);
  void* arguments[] = {&x, &partial, &y, &rows, &columns};
  const cudaError_t error =
      cudaLaunchCooperativeKernel(reinterpret_cast<void*>(row_sums), dim3(blocks), dim3(k_threads), arguments, 0,
                                  static_cast<cudaStream_t>(args->stream));
  return error == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(error));
}

KGEN_API void kgen_destroy(void*) {}
