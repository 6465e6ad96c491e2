/* 50 MB on each of stdout and stderr. */
#include <stdio.h>
#include <unistd.h>

#include "common.h"
PLAIN_REST
RUN {
  UNUSED_STATE;
  static char block[50000];
  memset(block, 'x', sizeof block);
  for (int i = 0; i < 1000; ++i) {
    fwrite(block, 1, sizeof block, stdout);
    const ssize_t written = write(2, block, sizeof block);
    (void)written;
  }
  compute(args);
  return 0;
}
