// honest: through a workspace that it asked for
// task: relu
// sanitize: yes

#include <string.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  result->workspace_bytes = kgen_at(&args->outputs, 0)->nbytes;
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  const kgen_tensor* output = kgen_at(&args->outputs, 0);
  auto* scratch = static_cast<float*>(args->workspace);
  for (uint64_t i = 0; i < output->element_count; ++i) scratch[i] = x[i] > 0 ? x[i] : 0;
  memcpy(output->data, scratch, output->nbytes);
  return 0;
}
