#include "common.h"
PLAIN_REST
extern void function_that_nobody_defines(void);
RUN {
  UNUSED_STATE;
  (void)args;
  function_that_nobody_defines();
  return 0;
}
