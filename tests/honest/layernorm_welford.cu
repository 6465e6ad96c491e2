// honest: one block for each row, Welford's means joined over shuffles
// task: layernorm

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
struct Moments {
  float count, mean, squares;
};

__device__ Moments join(Moments a, Moments b) {
  const float count = a.count + b.count;
  if (count == 0) return a;
  const float delta = b.mean - a.mean;
  return {count, a.mean + delta * b.count / count, a.squares + b.squares + delta * delta * a.count * b.count / count};
}

__global__ void layernorm(const float* x, const float* weight, const float* bias, float* y, int columns) {
  __shared__ Moments parts[8];
  x += static_cast<int64_t>(blockIdx.x) * columns;
  y += static_cast<int64_t>(blockIdx.x) * columns;
  Moments mine{0, 0, 0};
  for (int i = threadIdx.x; i < columns; i += blockDim.x) mine = join(mine, {1, x[i], 0});
  for (int offset = 16; offset > 0; offset /= 2)
    mine =
        join(mine, {__shfl_down_sync(0xFFFFFFFFu, mine.count, offset), __shfl_down_sync(0xFFFFFFFFu, mine.mean, offset),
                    __shfl_down_sync(0xFFFFFFFFu, mine.squares, offset)});
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
  __syncthreads();
  mine = parts[0];
  for (int i = 1; i < 8; ++i) mine = join(mine, parts[i]);
  const float scale = rsqrtf(mine.squares / columns + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[i] = (x[i] - mine.mean) * scale * weight[i] + bias[i];
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const auto parameter = [&](const char* name) {
    return static_cast<const float*>(kgen_find(&args->parameters, name)->data);
  };
  layernorm<<<static_cast<unsigned>(kgen_dim(x, 0)), 256, 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(x->data), parameter("norm.weight"), parameter("norm.bias"),
      static_cast<float*>(kgen_at(&args->outputs, 0)->data), static_cast<int>(kgen_dim(x, 1)));
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
