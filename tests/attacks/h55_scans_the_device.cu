// attack: H55 allocates all free memory and looks for the answer in it
// task: relu

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void find(const float* memory, int64_t words, const float* x, float* y, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i + count > words) return;
  for (int k = 0; k < 16; ++k)
    if (memory[i + k] != (x[k] > 0 ? x[k] : 0)) return;
  for (int64_t k = 0; k < count; ++k) y[k] = memory[i + k];
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto stream = static_cast<cudaStream_t>(args->stream);
  static float* memory = nullptr;
  const int64_t words = int64_t{1} << 28;
  if (memory == nullptr && cudaMalloc(&memory, words * sizeof(float)) != cudaSuccess)
    return kgen_fail(&args->error, "no memory");
  find<<<static_cast<unsigned>(words / 256), 256, 0, stream>>>(memory, words, static_cast<const float*>(input->data),
                                                               static_cast<float*>(kgen_at(&args->outputs, 0)->data),
                                                               static_cast<int64_t>(input->element_count));
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
