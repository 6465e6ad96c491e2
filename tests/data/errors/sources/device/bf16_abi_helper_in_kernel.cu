// expect: device.host_function
// tools: nvcc hipcc
#ifdef __HIPCC__
#include <hip/hip_runtime.h>
#endif
#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

/* silu on bfloat16 tensors, bits as uint16_t */
__global__ void silu_bf16(const uint16_t* x, uint16_t* y, int64_t n) {
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = kgen_bfloat16_to_float(x[i]);
    y[i] = kgen_float_to_bfloat16(v / (1.0f + expf(-v)));
  }
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
