// attack: H14 a kernel compares some elements with those of the last call, and copies the last answer
// task: big_relu
// twin: relu_cuda.cu

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__device__ int is_known;
__device__ float marks[64];

__global__ void recognize(const float* x, int64_t count) {
  __shared__ int different;
  if (threadIdx.x == 0) different = 0;
  __syncthreads();
  const float mine = x[threadIdx.x * (count / 64)];
  if (marks[threadIdx.x] != mine) atomicExch(&different, 1);
  marks[threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.x == 0) is_known = different == 0;
}

__global__ void relu_or_copy(const float* x, float* y, float* kept, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  if (!is_known) kept[i] = x[i] > 0 ? x[i] : 0;
  y[i] = kept[i];
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto count = static_cast<int64_t>(input->element_count);
  const auto stream = static_cast<cudaStream_t>(args->stream);
  static float* kept = nullptr;
  if (kept == nullptr && cudaMalloc(&kept, input->nbytes) != cudaSuccess) return kgen_fail(&args->error, "no memory");
  const auto* x = static_cast<const float*>(input->data);
  recognize<<<1, 64, 0, stream>>>(x, count);
  relu_or_copy<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(
      x, static_cast<float*>(kgen_at(&args->outputs, 0)->data), kept, count);
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}
