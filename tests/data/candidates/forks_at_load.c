#include <unistd.h>

#include "common.h"
PLAIN_REST
__attribute__((constructor)) static void early(void) {
  if (fork() == 0) pause();
}
RUN {
  UNUSED_STATE;
  compute(args);
  return 0;
}
