// expect: device.architecture
// tools: hipcc
#include <hip/hip_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));

__global__ void wmma_tile(const half16* a, const half16* b, float8* c) {
  int lane = threadIdx.x;
  float8 acc = {};
  acc = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a[lane], b[lane], acc);
  c[lane] = acc;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
