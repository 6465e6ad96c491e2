// attack: H09 reads the answer from behind its input, where an expected output might lie
// task: relu
// expect: accuracy:*, crash:*

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* beyond = static_cast<const float*>(input->data) + input->element_count;
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (uint64_t i = 0; i < input->element_count; ++i) y[i] = beyond[i];
  return 0;
}
