// Two linear layers with a ReLU between them, right: plain loops, the weights as they come.
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

/// y[row, column] = bias[column] + sum over k of x[row, k] * weight[column, k].
__global__ void linear(const float* x, const float* weight, const float* bias, float* y, int width, bool relu) {
  __shared__ float row[1024];
  for (int k = threadIdx.x; k < width; k += blockDim.x) row[k] = x[static_cast<int64_t>(blockIdx.x) * width + k];
  __syncthreads();
  for (int column = threadIdx.x; column < width; column += blockDim.x) {
    float sum = bias[column];
    for (int k = 0; k < width; ++k) sum += row[k] * weight[static_cast<int64_t>(column) * width + k];
    y[static_cast<int64_t>(blockIdx.x) * width + column] = relu && sum < 0.0f ? 0.0f : sum;
  }
}

const float* parameter(const kgen_run_args* args, const char* name) {
  return static_cast<const float*>(kgen_find(&args->parameters, name)->data);
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  for (const char* name : {"first.weight", "first.bias", "second.weight", "second.bias"}) {
    if (kgen_find(&args->parameters, name) == nullptr) return kgen_fail(&args->error, "a parameter is missing");
  }
  if (kgen_dim(x, -1) > 1024) return kgen_fail(&args->error, "a row is too long");
  result->workspace_bytes = x->nbytes;
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const auto width = static_cast<int>(kgen_dim(x, -1));
  const auto rows = static_cast<unsigned>(kgen_dim(x, 0));
  const auto stream = static_cast<cudaStream_t>(args->stream);
  auto* hidden = static_cast<float*>(args->workspace);
  linear<<<rows, 256, 0, stream>>>(static_cast<const float*>(x->data), parameter(args, "first.weight"),
                                   parameter(args, "first.bias"), hidden, width, true);
  linear<<<rows, 256, 0, stream>>>(hidden, parameter(args, "second.weight"), parameter(args, "second.bias"),
                                   static_cast<float*>(kgen_at(&args->outputs, 0)->data), width, false);
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}

KGEN_API void kgen_destroy(void*) {}
