// y = x / 2, four floats per load. k_extra_percent is additional work: as many elements of the workspace, which no
// cache holds, are scaled too. noise.py uses it to plant a difference.
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int64_t k_extra_percent = 0;
constexpr int k_threads = 256;

__device__ __forceinline__ float4 half_of(float4 v) {
  return make_float4(0.5f * v.x, 0.5f * v.y, 0.5f * v.z, 0.5f * v.w);
}

__global__ void scale(const float4* __restrict__ x, float4* __restrict__ y, int64_t vectors, float4* extra,
                      int64_t extra_vectors) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < vectors) {
    y[i] = half_of(x[i]);
  } else if (i - vectors < extra_vectors) {
    extra[i - vectors + extra_vectors] = half_of(extra[i - vectors]);
  }
}

int64_t extra_vectors(int64_t vectors) { return vectors * k_extra_percent / 100; }

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  if (x == nullptr || !kgen_is(x, KGEN_FLOAT32, x->rank) || x->element_count % 4 != 0)
    return kgen_fail(&args->error, "a contiguous float32 input in fours is needed");
  result->workspace_bytes = 2 * extra_vectors(static_cast<int64_t>(x->element_count) / 4) * sizeof(float4);
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const auto vectors = static_cast<int64_t>(x->element_count) / 4;
  const int64_t all = vectors + extra_vectors(vectors);
  scale<<<static_cast<unsigned>((all + k_threads - 1) / k_threads), k_threads, 0,
          static_cast<cudaStream_t>(args->stream)>>>(static_cast<const float4*>(x->data),
                                                     static_cast<float4*>(kgen_at(&args->outputs, 0)->data), vectors,
                                                     static_cast<float4*>(args->workspace), extra_vectors(vectors));
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(error));
}

KGEN_API void kgen_destroy(void*) {}
