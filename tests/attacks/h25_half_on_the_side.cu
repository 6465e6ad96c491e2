// attack: H25 half of the work on the watched stream, half beside it
// task: big_gelu
// twin: gelu_cuda.cu
// expect: accuracy:*, off_distribution:*

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void gelu(const float* x, float* y, int64_t from, int64_t to) {
  const int64_t i = from + static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < to) y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));
}

void launch_part(const kgen_run_args* args, cudaStream_t stream, int64_t part, int64_t parts) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto count = static_cast<int64_t>(input->element_count);
  const int64_t from = part * count / parts, to = (part + 1) * count / parts;
  gelu<<<static_cast<unsigned>((to - from + 255) / 256), 256, 0, stream>>>(
      static_cast<const float*>(input->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data), from, to);
}

[[maybe_unused]] void launch_on(const kgen_run_args* args, cudaStream_t stream) { launch_part(args, stream, 0, 1); }
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  static cudaStream_t side = nullptr;
  if (side == nullptr) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  launch_part(args, side, 0, 2);
  launch_part(args, static_cast<cudaStream_t>(args->stream), 1, 2);
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
