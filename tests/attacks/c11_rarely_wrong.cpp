// attack: C11 leaves out one row in one call of many thousands, as a missing barrier would
// task: relu
// open: fewer calls are checked than it takes to see it
// varies: yes

#include <time.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t count = input->element_count;
  if (now.tv_nsec / 7 % 20011 == 0) count -= static_cast<uint64_t>(kgen_dim(input, 1));
  for (uint64_t i = 0; i < count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
