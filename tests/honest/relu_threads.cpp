// honest: std::thread, joined in the call, as many as are allowed
// task: big_relu
// sanitize: yes

#include <thread>
#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const uint64_t count = kgen_at(&args->inputs, 0)->element_count;
  const uint64_t parts = static_cast<uint64_t>(args->threads);
  const auto part = [=](uint64_t index) {
    for (uint64_t i = index * count / parts; i < (index + 1) * count / parts; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  };
  std::vector<std::thread> threads;
  for (uint64_t index = 1; index < parts; ++index) threads.emplace_back(part, index);
  part(0);
  for (auto& thread : threads) thread.join();
  return 0;
}
