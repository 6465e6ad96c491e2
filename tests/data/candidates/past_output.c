/* Writes far enough past the end of y to leave the padding. */
#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  volatile char* y = (volatile char*)output_y(args);
  const uint64_t nbytes = kgen_find(&args->outputs, "y")->nbytes;
  for (uint64_t i = 0; i < 4096; ++i) y[nbytes + i] = 1;
  return 0;
}
