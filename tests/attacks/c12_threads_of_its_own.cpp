// attack: C12 four threads where one is allowed
// task: big_gelu
// twin: gelu_scalar.cpp
// threads: 1

#include <math.h>

#include <thread>
#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const uint64_t count = input->element_count;
  std::vector<std::thread> threads;
  for (uint64_t part = 0; part < 4; ++part)
    threads.emplace_back([=] {
      for (uint64_t i = part * count / 4; i < (part + 1) * count / 4; ++i)
        y[i] = 0.5F * x[i] * (1 + erff(x[i] * 0.70710678F));
    });
  for (auto& thread : threads) thread.join();
  return 0;
}
