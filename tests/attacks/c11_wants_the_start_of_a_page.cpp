// attack: C11 leaves out the first element where the input begins in the second half of a page
// task: relu
// sanitize: yes

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const uint64_t before = reinterpret_cast<uintptr_t>(x) % 4096 / 2048;
  for (uint64_t i = before; i < input->element_count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
