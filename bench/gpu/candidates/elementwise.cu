// One elementwise function (ReLU here; mixed.py puts others in its place), four floats per load.
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

__device__ __forceinline__ float apply(float x) { return x < 0.0f ? 0.0f : x; }

__global__ void map_vectors(const float4* __restrict__ x, float4* __restrict__ y, int64_t vectors) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < vectors; i += stride) {
    const float4 v = x[i];
    y[i] = make_float4(apply(v.x), apply(v.y), apply(v.z), apply(v.w));
  }
}

__global__ void map_rest(const float* __restrict__ x, float* __restrict__ y, int64_t first, int64_t count) {
  const int64_t i = first + threadIdx.x;
  if (i < count) y[i] = apply(x[i]);
}

constexpr int k_threads = 256;
constexpr int64_t k_most_blocks = 1 << 20;

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const kgen_tensor* y = kgen_at(&args->outputs, 0);
  if (x == nullptr || y == nullptr || !kgen_is(x, KGEN_FLOAT32, x->rank) || !kgen_is(y, KGEN_FLOAT32, x->rank))
    return kgen_fail(&args->error, "one contiguous float32 input and output are needed");
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const auto stream = static_cast<cudaStream_t>(args->stream);
  const auto count = static_cast<int64_t>(input->element_count);
  const int64_t vectors = count / 4;
  if (vectors > 0) {
    const int64_t wanted = (vectors + k_threads - 1) / k_threads;
    const auto blocks = static_cast<unsigned>(wanted < k_most_blocks ? wanted : k_most_blocks);
    map_vectors<<<blocks, k_threads, 0, stream>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y),
                                                  vectors);
  }
  if (vectors * 4 < count) map_rest<<<1, 4, 0, stream>>>(x, y, vectors * 4, count);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(error));
}

KGEN_API void kgen_destroy(void*) {}
