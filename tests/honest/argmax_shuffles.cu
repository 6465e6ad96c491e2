// honest: value and index joined over a warp, the smaller index of equals
// task: argmax

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void argmax(const float* x, int64_t* y, int columns) {
  x += static_cast<int64_t>(blockIdx.x) * columns;
  float best = -INFINITY;
  int place = 0x7FFFFFFF;
  for (int i = threadIdx.x; i < columns; i += 32)
    if (x[i] > best || place == 0x7FFFFFFF) {
      best = x[i];
      place = i;
    }
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xFFFFFFFFu, best, offset);
    const int there = __shfl_xor_sync(0xFFFFFFFFu, place, offset);
    if (other > best || (other == best && there < place)) {
      best = other;
      place = there;
    }
  }
  if (threadIdx.x == 0) y[blockIdx.x] = place;
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  argmax<<<static_cast<unsigned>(kgen_dim(x, 0)), 32, 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(x->data), static_cast<int64_t*>(kgen_at(&args->outputs, 0)->data),
      static_cast<int>(kgen_dim(x, 1)));
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
