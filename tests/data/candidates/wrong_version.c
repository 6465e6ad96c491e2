#include "common.h"
KGEN_API uint32_t kgen_abi_version(void) { return 77; }
PLAIN_PREPARE
PLAIN_DESTROY
RUN {
  UNUSED_STATE;
  (void)args;
  return 0;
}
