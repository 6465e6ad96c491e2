/* Needs 100 GB and does not look at what malloc answers. */
#include <stdlib.h>

#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  char* memory = malloc((size_t)100 << 30);
  memory[0] = 1; /* written through, or the compiler drops the call */
  memset(memory, 1, (size_t)100 << 30);
  output_y(args)[0] = memory[12345];
  free(memory);
  return 0;
}
