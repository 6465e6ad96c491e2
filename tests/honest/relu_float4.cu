// honest: four elements a thread, strides of the grid, and a loop for the rest
// task: big_relu

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void relu(const float* x, float* y, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto* from = reinterpret_cast<const float4*>(x);
  auto* to = reinterpret_cast<float4*>(y);
  for (int64_t i = first; i < count / 4; i += step) {
    const float4 v = from[i];
    to[i] = make_float4(fmaxf(v.x, 0), fmaxf(v.y, 0), fmaxf(v.z, 0), fmaxf(v.w, 0));
  }
  for (int64_t i = count / 4 * 4 + first; i < count; i += step) y[i] = fmaxf(x[i], 0);
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  relu<<<1056, 256, 0, static_cast<cudaStream_t>(args->stream)>>>(static_cast<const float*>(input->data),
                                                                  static_cast<float*>(kgen_at(&args->outputs, 0)->data),
                                                                  static_cast<int64_t>(input->element_count));
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
