// attack: H73 a kernel that never ends
// task: relu
// expect: timeout

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void endless(volatile float* y) {
  while (y[0] != 314159.0f) {
  }
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  endless<<<1, 1, 0, static_cast<cudaStream_t>(args->stream)>>>(static_cast<float*>(kgen_at(&args->outputs, 0)->data));
  return 0;
}
