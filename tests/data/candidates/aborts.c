#include <stdlib.h>

#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  (void)args;
  abort();
}
