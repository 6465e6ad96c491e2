/* Asks NVIDIA's driver for a queue of commands, as a second context does; right if that is refused, and other requests
 * reach the file. */
#include <errno.h>
#include <sys/ioctl.h>

#include "fake_cuda.h"

PLAIN_REST

RUN {
  enum { k_register_channel = 27, k_unregister_channel = 28 };
  UNUSED_STATE;
  if (ioctl(0, k_register_channel, NULL) != -1 || errno != EPERM) return kgen_fail(&args->error, "it was not refused");
  if (ioctl(0, k_unregister_channel, NULL) != -1 || errno == EPERM) return kgen_fail(&args->error, "all is refused");
  compute(args);
  return 0;
}
