// Dishonest: a thread keeps kernels in the device's queue that go on when the process is stopped, so that the reference
// has to share the device.
#include <cuda_runtime.h>

#include <chrono>
#include <thread>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

__global__ void relu(const float* x, float* y, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

__global__ void spin(long long cycles) {
  for (const long long end = clock64() + cycles; clock64() < end;) {
  }
}

static void keep_busy() {
  cudaStream_t own = nullptr;
  if (cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking) != cudaSuccess) return;
  for (;;) {
    spin<<<64, 256, 0, own>>>(40'000'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
  }
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) {
  std::thread(keep_busy).detach();
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const auto count = static_cast<int64_t>(input->element_count);
  const auto stream = static_cast<cudaStream_t>(args->stream);
  const auto blocks = static_cast<unsigned>((count + 255) / 256);
  relu<<<blocks, 256, 0, stream>>>(x, y, count);
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}

KGEN_API void kgen_destroy(void*) {}
