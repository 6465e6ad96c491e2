// expect: resource.constant_memory
// tools: nvcc
#include <cuda_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

// 64 -> 64 channels, 3x3: every thread of a warp reads the same weight, constant memory broadcasts it.
__constant__ float c_weight[64 * 64 * 3 * 3];
__constant__ float c_bias[64];

__global__ void conv3x3(const float* x, float* y, int h, int w) {
  int ox = blockIdx.x * blockDim.x + threadIdx.x, oy = blockIdx.y, oc = blockIdx.z;
  if (ox >= w || oy >= h) return;
  float acc = c_bias[oc];
  for (int c = 0; c < 64; ++c)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        int iy = oy + i - 1, ix = ox + j - 1;
        if (iy >= 0 && iy < h && ix >= 0 && ix < w) acc += x[(c * h + iy) * w + ix] * c_weight[((oc * 64 + c) * 3 + i) * 3 + j];
      }
  y[(oc * h + oy) * w + ox] = acc;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
