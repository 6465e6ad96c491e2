// expect: cxx.undeclared
// tools: nvcc
#include <cooperative_groups.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
namespace cg = cooperative_groups;

__global__ void rms_rows(const float* x, float* y, int cols) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  const float* row = x + (size_t)blockIdx.x * cols;
  float ss = 0.f;
  for (int i = warp.thread_rank(); i < cols; i += 32) ss += row[i] * row[i];
  ss = cg::reduce(warp, ss, cg::plus<float>());
  float r = rsqrtf(ss / cols + 1e-6f);
  for (int i = warp.thread_rank(); i < cols; i += 32) y[(size_t)blockIdx.x * cols + i] = row[i] * r;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
