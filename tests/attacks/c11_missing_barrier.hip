// attack: C11 a sum over a block that lacks its last barrier
// task: softmax
// device: cpu

#include <hip/hip_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void softmax(const float* x, float* y, int columns) {
  __shared__ float parts[256];
  x += static_cast<int64_t>(blockIdx.x) * columns;
  y += static_cast<int64_t>(blockIdx.x) * columns;
  float maximum = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < columns; i += 256) maximum = fmaxf(maximum, x[i]);
  parts[threadIdx.x] = maximum;
  for (int offset = 128; offset > 0; offset /= 2) {
    __syncthreads();
    if (threadIdx.x < offset) parts[threadIdx.x] = fmaxf(parts[threadIdx.x], parts[threadIdx.x + offset]);
  }
  __syncthreads();
  maximum = parts[0];
  // Here a barrier is missing: a fast wavefront overwrites what a slow one still reads.
  for (int i = threadIdx.x; i < columns; i += 256) sum += expf(x[i] - maximum);
  parts[threadIdx.x] = sum;
  for (int offset = 128; offset > 0; offset /= 2) {
    __syncthreads();
    if (threadIdx.x < offset) parts[threadIdx.x] += parts[threadIdx.x + offset];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += 256) y[i] = expf(x[i] - maximum) / parts[0];
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  softmax<<<static_cast<unsigned>(kgen_dim(x, 0)), 256, 0, static_cast<hipStream_t>(args->stream)>>>(
      static_cast<const float*>(x->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data),
      static_cast<int>(kgen_dim(x, 1)));
  return hipGetLastError() == hipSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
