#include "common.h"
KGEN_EXPORT_ABI_VERSION
PLAIN_DESTROY
KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  (void)args;
  result->workspace_bytes = (uint64_t)1 << 55;
  return 0;
}
RUN {
  UNUSED_STATE;
  (void)args;
  return 0;
}
