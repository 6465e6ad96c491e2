#include "common.h"
PLAIN_REST
static int deeper(volatile char* above, int depth) {
  volatile char here[4096];
  here[0] = above[0];
  return depth == 1 << 30 ? here[0] : deeper(here, depth + 1) + here[0];
}
RUN {
  UNUSED_STATE;
  volatile char top = 1;
  output_y(args)[0] = (float)deeper(&top, 0);
  return 0;
}
