#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  kgen_fail(&args->error, "x has a shape that I cannot handle");
  return 17;
}
