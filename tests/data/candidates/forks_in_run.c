/* Forks and leaves: the child would go on when the runner has answered. */
#include <unistd.h>

#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  compute(args);
  if (fork() == 0) {
    setsid();
    for (;;) pause();
  }
  return 0;
}
