// attack: H67 works in place and copies
// task: relu
// expect: mutated_input
// installed: yes

#include <hip/hip_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void relu(float* x, float* y, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] = x[i] > 0 ? x[i] : 0;
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto count = static_cast<int64_t>(input->element_count);
  relu<<<static_cast<unsigned>((count + 255) / 256), 256, 0, static_cast<hipStream_t>(args->stream)>>>(
      static_cast<float*>(input->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data), count);
  return hipGetLastError() == hipSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
