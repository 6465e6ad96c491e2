#include <unistd.h>

#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  compute(args);
  _exit(0);
}
