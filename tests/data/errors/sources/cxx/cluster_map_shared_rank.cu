// expect: cxx.call
// tools: nvcc
#include <cooperative_groups.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(4, 1, 1) cluster_sum(const float* x, float* y, int n) {
  __shared__ float part;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) part = 0.f;
  __syncthreads();
  float v = 0.f;
  for (int i = cluster.block_rank() * blockDim.x + threadIdx.x; i < n; i += 4 * blockDim.x) v += x[i];
  atomicAdd(&part, v);
  cluster.sync();
  float* remote = cluster.map_shared_rank(&part);
  if (threadIdx.x == 0 && cluster.block_rank() == 0) y[0] = *remote;
  cluster.sync();
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
