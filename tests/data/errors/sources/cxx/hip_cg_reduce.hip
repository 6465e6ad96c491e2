// expect: cxx.undeclared
// tools: hipcc
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
namespace cg = cooperative_groups;

__global__ void row_dot(const float* a, const float* b, float* y, int cols) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<64> tile = cg::tiled_partition<64>(block);
  float s = 0.f;
  for (int i = tile.thread_rank(); i < cols; i += tile.size()) s += a[blockIdx.x * cols + i] * b[blockIdx.x * cols + i];
  s = cg::reduce(tile, s, cg::plus<float>());
  if (tile.thread_rank() == 0) y[blockIdx.x] = s;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
