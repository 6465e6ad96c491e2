#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  (void)args;
  *(volatile int* volatile)NULL = 1;
  return 0;
}
