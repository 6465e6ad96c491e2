// max(x, 0), elementwise, four neighbours a thread. NaN stays NaN, as in torch.
#include <cstdint>

#include <hip/hip_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int k_threads = 256;

__device__ float relu(float x) { return x < 0.0f ? 0.0f : x; }

/// One thread more than there are whole quads: the last one takes the rest.
__global__ void __launch_bounds__(k_threads)
    relu_kernel(const float* __restrict__ x, float* __restrict__ y, std::int64_t count) {
  const std::int64_t quads = count / 4;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * k_threads + threadIdx.x;
  if (i < quads) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    reinterpret_cast<float4*>(y)[i] = make_float4(relu(v.x), relu(v.y), relu(v.z), relu(v.w));
  } else if (i == quads) {
    for (std::int64_t j = quads * 4; j < count; ++j) y[j] = relu(x[j]);
  }
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* y = kgen_find(&args->outputs, "output");
  if (x == nullptr || y == nullptr) return kgen_fail(&args->error, "x or output is missing");
  if (!kgen_is(x, KGEN_FLOAT32, x->rank) || !kgen_is(y, KGEN_FLOAT32, x->rank)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32");
  }
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  float* y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
  const auto count = static_cast<std::int64_t>(x->element_count);
  const auto blocks = static_cast<unsigned>(count / 4 / k_threads + 1);
  relu_kernel<<<blocks, k_threads, 0, static_cast<hipStream_t>(args->stream)>>>(static_cast<const float*>(x->data), y,
                                                                                count);
  const hipError_t status = hipGetLastError();
  return status == hipSuccess ? 0 : kgen_fail(&args->error, hipGetErrorString(status));
}

KGEN_API void kgen_destroy(void*) {}
