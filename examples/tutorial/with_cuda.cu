// One block for each row, four values for each thread: the row stays in registers from the gate to the result.
#include <cstdint>

#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

constexpr int k_values = 4;
constexpr int k_max_threads = 1024;
constexpr int k_warp = 32;

__device__ float gated(float hidden, float gate) { return hidden * gate / (1.0f + expf(-gate)); }

__device__ float sum_over_warp(float value) {
  for (int offset = k_warp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

__global__ void gated_norm(const float4* __restrict__ hidden, const float4* __restrict__ gate,
                           const float4* __restrict__ weight, float4* __restrict__ output, int vectors, float epsilon) {
  const std::int64_t row = blockIdx.x;
  const int i = static_cast<int>(threadIdx.x);
  float4 value{0.0f, 0.0f, 0.0f, 0.0f};
  if (i < vectors) {
    const float4 h = hidden[row * vectors + i];
    const float4 g = gate[row * vectors + i];
    value = {gated(h.x, g.x), gated(h.y, g.y), gated(h.z, g.z), gated(h.w, g.w)};
  }
  const float squares = value.x * value.x + value.y * value.y + value.z * value.z + value.w * value.w;
  __shared__ float warps[k_max_threads / k_warp];
  const float sum = sum_over_warp(squares);
  if (i % k_warp == 0) warps[i / k_warp] = sum;
  __syncthreads();
  float total = 0.0f;
  for (int warp = 0; warp < static_cast<int>(blockDim.x) / k_warp; ++warp) total += warps[warp];
  const float scale = 1.0f / sqrtf(total / static_cast<float>(vectors * k_values) + epsilon);
  if (i < vectors) {
    const float4 w = weight[i];
    output[row * vectors + i] = {value.x * scale * w.x, value.y * scale * w.y, value.z * scale * w.z,
                                 value.w * scale * w.w};
  }
}

}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* hidden = kgen_find(&args->inputs, "hidden");
  const kgen_tensor* gate = kgen_find(&args->inputs, "gate");
  const kgen_tensor* weight = kgen_find(&args->parameters, "weight");
  if (!kgen_is(hidden, KGEN_FLOAT32, 2) || !kgen_is(gate, KGEN_FLOAT32, 2) || !kgen_is(weight, KGEN_FLOAT32, 1)) {
    return kgen_fail(&args->error, "hidden and gate must be float32 with two dimensions, weight with one");
  }
  if (args->device != KGEN_DEVICE_CUDA) return kgen_fail(&args->error, "this kernel needs a CUDA device");
  const std::int64_t width = kgen_dim(hidden, 1);
  if (width % k_values != 0 || width > k_values * k_max_threads) {
    return kgen_fail(&args->error, "the width must be a multiple of 4 and at most 4096");
  }
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "hidden");
  const auto* hidden = static_cast<const float4*>(input->data);
  const auto* gate = static_cast<const float4*>(kgen_find(&args->inputs, "gate")->data);
  const auto* weight = static_cast<const float4*>(kgen_find(&args->parameters, "weight")->data);
  auto* output = static_cast<float4*>(kgen_find(&args->outputs, "output")->data);
  const auto epsilon = static_cast<float>(kgen_number(&args->init_scalars, "epsilon", 0.0));
  const auto rows = static_cast<unsigned>(kgen_dim(input, 0));
  const int vectors = static_cast<int>(kgen_dim(input, 1)) / k_values;
  const auto threads = static_cast<unsigned>((vectors + k_warp - 1) / k_warp * k_warp);
  gated_norm<<<rows, threads, 0, static_cast<cudaStream_t>(args->stream)>>>(hidden, gate, weight, output, vectors,
                                                                            epsilon);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? 0 : kgen_fail(&args->error, cudaGetErrorString(status));
}

KGEN_API void kgen_destroy(void*) {}
