#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  for (volatile uint64_t i = 0;; ++i) {
    if (args == NULL) return 1;
  }
}
