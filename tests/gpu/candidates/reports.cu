// Wrong: block 3 waits for a flag that nothing sets. It says which wait did not end, and traps.
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_EXPORT_REPORTS("weights_ready", "never")

__global__ void relu(const float* x, float* y, int64_t count, uint64_t* flag, uint64_t* report) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (blockIdx.x == 3 && threadIdx.x == 0) {
    const long long started = clock64();
    while (*static_cast<volatile uint64_t*>(flag) == 0) {
      if (clock64() - started > 200000000) {
        KGEN_REPORT(report, 2);
        __trap();
      }
    }
  }
  if (i < count) y[i] = fmaxf(x[i], 0.0F);
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result* result) {
  result->workspace_bytes = sizeof(uint64_t);
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const auto count = static_cast<int64_t>(input->element_count);
  const auto stream = static_cast<cudaStream_t>(args->stream);
  const auto blocks = static_cast<unsigned>((count + 255) / 256);
  auto* flag = static_cast<uint64_t*>(args->workspace);
  if (cudaMemsetAsync(flag, 0, sizeof *flag, stream) != cudaSuccess) return kgen_fail(&args->error, "no flag");
  relu<<<blocks, 256, 0, stream>>>(x, y, count, flag, args->report);
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}

KGEN_API void kgen_destroy(void*) {}
