// attack: H67 changes one element of its input after it has read it
// task: relu
// expect: mutated_input

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  auto* x = static_cast<float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (uint64_t i = 0; i < input->element_count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  x[input->element_count / 2] = -1;
  return 0;
}
