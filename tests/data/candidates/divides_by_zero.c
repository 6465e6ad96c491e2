#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  volatile int zero = 0;
  output_y(args)[0] = (float)((int)input_x(args)[7] / zero); /* 1 / zero compiles to a comparison */
  return 0;
}
