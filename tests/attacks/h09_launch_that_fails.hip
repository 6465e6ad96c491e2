// attack: H09 asks for more LDS than there is, ignores the error, and hopes for what is there
// task: relu
// expect: accuracy:*, off_distribution:*, launch:*, resource:*
// installed: yes

#include <hip/hip_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void relu(const float* x, float* y, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] > 0 ? x[i] : 0;
}

void launch(const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto count = static_cast<int64_t>(input->element_count);
  relu<<<static_cast<unsigned>((count + 255) / 256), 256, 0, static_cast<hipStream_t>(args->stream)>>>(
      static_cast<const float*>(input->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data), count);
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  static int calls = 0;
  if (++calls == 1) launch(args);
  relu<<<1024, 256, 1 << 20, static_cast<hipStream_t>(args->stream)>>>(
      static_cast<const float*>(input->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data),
      static_cast<int64_t>(input->element_count));
  (void)hipGetLastError();
  return 0;
}
